import { testLockBreaks } from "./helpers/lock-breaks.ts";

testLockBreaks("mysql-9.7");
