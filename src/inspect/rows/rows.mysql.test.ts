import { describeRowStatements } from "../../../test/helpers/row-statement-cases.ts";

describeRowStatements("mysql-9.7", "mysql-9.7");
describeRowStatements("mysql-5.6", "common");
