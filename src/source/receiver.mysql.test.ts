import { describeReceiver } from "../../test/helpers/receiver-cases.ts";

describeReceiver({
  name: "MySQL 9.7 with GTIDs, compressed transactions",
  flavour: "mysql-9.7",
  options: ["--binlog-transaction-compression=ON"],
  gtids: "mysql",
});

describeReceiver({
  name: "MySQL 9.7 without GTIDs and checksums",
  flavour: "mysql-9.7",
  options: ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF", "--binlog-checksum=NONE"],
  gtids: "none",
});
