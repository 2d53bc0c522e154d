import { testKills } from "./helpers/kill-cases.ts";

testKills("mariadb-10.11", "MariaDB 10.11", 1011);
