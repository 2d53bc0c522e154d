import { useServer } from "../../test/helpers/servers.ts";
import { testCollations, testWritesets } from "../../test/helpers/writeset-cases.ts";

const server = useServer("mysql-5.6", { options: ["--innodb-large-prefix=ON", "--innodb-file-format=Barracuda"] });

testWritesets(server, undefined);

testCollations(server, [
  "utf8mb4_general_ci",
  "utf8_unicode_ci",
  "utf8_general_ci",
  "utf8_bin",
  "utf8mb4_czech_ci",
  "latin1_german2_ci",
  "latin1_swedish_ci",
]);
