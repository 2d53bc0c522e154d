import { describeReceiver } from "../../test/helpers/receiver-cases.ts";

describeReceiver({ name: "MariaDB 10.11", flavour: "mariadb-10.11", options: [], gtids: "mariadb" });

describeReceiver({
  name: "MariaDB 11.8 with compressed events and without checksums",
  flavour: "mariadb-11.8",
  options: ["--binlog-checksum=NONE", "--log-bin-compress=ON", "--log-bin-compress-min-len=10"],
  gtids: "mariadb",
});
