import { testSchemaDump } from "../../test/helpers/schema-cases.ts";
import { useServer } from "../../test/helpers/servers.ts";

testSchemaDump(useServer("mysql-5.6"));
