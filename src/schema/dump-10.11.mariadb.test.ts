import { MARIADB_TABLES, testSchemaDump } from "../../test/helpers/schema-cases.ts";
import { useServer } from "../../test/helpers/servers.ts";

testSchemaDump(useServer("mariadb-10.11"), MARIADB_TABLES);
