import { MARIADB_TABLES, testSchemaDump } from "../../test/helpers/schema-cases.ts";
import { useServer } from "../../test/helpers/servers.ts";

testSchemaDump(useServer("mariadb-11.8"), MARIADB_TABLES);
