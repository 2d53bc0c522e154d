import { describeValues } from "../../../test/helpers/value-cases.ts";

describeValues("mariadb-10.11", "mariadb");
