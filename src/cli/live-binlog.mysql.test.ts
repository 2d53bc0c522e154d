import { describeLiveBinlog } from "../../test/helpers/live-binlog-cases.ts";

describeLiveBinlog("mysql-9.7");
describeLiveBinlog("mysql-5.6");
