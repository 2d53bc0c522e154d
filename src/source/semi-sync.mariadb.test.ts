import { describeSemiSync } from "../../test/helpers/semi-sync-cases.ts";

describeSemiSync({ name: "MariaDB 10.11", flavour: "mariadb-10.11", install: "", word: "master" });

describeSemiSync({ name: "MariaDB 11.8", flavour: "mariadb-11.8", install: "", word: "master" });
