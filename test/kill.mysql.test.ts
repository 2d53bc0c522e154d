import { testKills } from "./helpers/kill-cases.ts";

testKills("mysql-9.7", "MySQL 9.7", 97);
