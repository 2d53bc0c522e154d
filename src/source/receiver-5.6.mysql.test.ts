import { describeReceiver } from "../../test/helpers/receiver-cases.ts";

describeReceiver({ name: "MySQL 5.6 with GTIDs", flavour: "mysql-5.6", options: [], gtids: "mysql" });

describeReceiver({
  name: "MySQL 5.6 without GTIDs and checksums",
  flavour: "mysql-5.6",
  options: ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF", "--binlog-checksum=NONE"],
  gtids: "none",
});
