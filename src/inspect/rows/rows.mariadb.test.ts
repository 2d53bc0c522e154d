import { describeRowStatements } from "../../../test/helpers/row-statement-cases.ts";

describeRowStatements("mariadb-10.11", "mariadb");
