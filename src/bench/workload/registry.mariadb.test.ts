import { workloadCases } from "../../../test/helpers/workload-cases.ts";

workloadCases("mariadb-10.11");
