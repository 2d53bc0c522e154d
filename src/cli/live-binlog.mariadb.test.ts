import { describeLiveBinlog } from "../../test/helpers/live-binlog-cases.ts";

describeLiveBinlog("mariadb-10.11");
describeLiveBinlog("mariadb-11.8");
