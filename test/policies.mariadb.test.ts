import { testPolicies } from "./helpers/policy-matrix.ts";

testPolicies("mariadb-10.11", 800);
