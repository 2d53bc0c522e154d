import { workloadCases } from "../../../test/helpers/workload-cases.ts";

workloadCases("mysql-9.7");
