import { MYSQL_TABLES, testSchemaDump } from "../../test/helpers/schema-cases.ts";
import { useServer } from "../../test/helpers/servers.ts";

testSchemaDump(useServer("mysql-9.7"), MYSQL_TABLES);
