import { describeSemiSync } from "../../test/helpers/semi-sync-cases.ts";

describeSemiSync({
  name: "MySQL 9.7",
  flavour: "mysql-9.7",
  install: "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
  word: "source",
});
