import { describeValues } from "../../../test/helpers/value-cases.ts";

describeValues("mysql-9.7", "mysql-9.7");
describeValues("mysql-5.6", "common");
