import { testPolicies } from "./helpers/policy-matrix.ts";

testPolicies("mysql-9.7", 800);
