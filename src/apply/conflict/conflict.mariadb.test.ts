import { describeConflicts } from "../../../test/helpers/conflict-cases.ts";

describeConflicts("mariadb-10.11");
