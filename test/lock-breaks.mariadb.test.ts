import { testLockBreaks } from "./helpers/lock-breaks.ts";

testLockBreaks("mariadb-10.11");
