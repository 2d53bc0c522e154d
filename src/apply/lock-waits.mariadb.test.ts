import { describeLockWaits } from "../../test/helpers/lock-cases.ts";

describeLockWaits("mariadb-10.11");
