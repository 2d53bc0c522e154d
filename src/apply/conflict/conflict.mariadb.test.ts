import { describeConflicts, describeConflictsAcross } from "../../../test/helpers/conflict-cases.ts";

describeConflicts("mariadb-10.11");
describeConflictsAcross("mariadb-10.11", "mysql-9.7");
describeConflictsAcross("mysql-9.7", "mariadb-10.11");
