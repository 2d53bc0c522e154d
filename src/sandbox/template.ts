import { constants } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { cacheFolder } from "./cache.ts";
import { lastLines } from "./failure.ts";
import { FLAVOURS } from "./flavours.ts";
import { commandOf, isAccessible } from "./installation.ts";
import type { ServerInstallation } from "./installation.ts";
import { withLockFile } from "./lock.ts";
import { runProgram } from "./process.ts";

/** Raise it when what goes into a template changes: templates made before are then left alone. */
const TEMPLATE_EDITION = 1;

/**
 * Fills an unused data folder by copying one that is initialised once per server version: a copy takes a fraction of the
 * time. Without auto.cnf, so that every server gives itself a UUID of its own.
 */
export async function fillDataFolder(
  installation: ServerInstallation,
  dataFolder: string,
  onProgress: (text: string) => void,
): Promise<void> {
  const template = await findTemplate(installation, onProgress);
  await mkdir(dataFolder, { recursive: true });
  for (const name of await readdir(dataFolder)) await rm(join(dataFolder, name), { recursive: true });
  const marker = join(dataFolder, FILLING);
  await writeFile(marker, "");
  await cp(template, dataFolder, { recursive: true, mode: constants.COPYFILE_FICLONE });
  await rm(join(dataFolder, "auto.cnf"), { force: true });
  await rm(marker);
}

/** There while a data folder is filled: a folder with it was left half filled by an interruption. */
const FILLING = "abreast-filling";

/** A data folder without files yet, or none at all, is to be filled; anything else is a server's data. */
export async function isUnused(dataFolder: string): Promise<boolean> {
  const names = await readdir(dataFolder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.length === 0 || names.includes(FILLING);
}

async function findTemplate(installation: ServerInstallation, onProgress: (text: string) => void): Promise<string> {
  const { flavour, version } = installation;
  const folder = cacheFolder(flavour);
  const template = join(folder, `template-${TEMPLATE_EDITION}-${version}`);
  if (await isAccessible(template, constants.F_OK)) return template;
  return withLockFile(
    `${template}.lock`,
    () => onProgress(`${flavour}: another process is initialising its data folder`),
    async () => {
      if (await isAccessible(template, constants.F_OK)) return template;
      onProgress(`${flavour}: initialising a data folder`);
      const unfinished = await mkdtemp(join(folder, "initialising-"));
      try {
        await initialise(installation, join(unfinished, "data"), unfinished);
        await rename(join(unfinished, "data"), template);
      } finally {
        await rm(unfinished, { recursive: true, force: true });
      }
      return template;
    },
  );
}

async function initialise(installation: ServerInstallation, dataFolder: string, workFolder: string): Promise<void> {
  const { flavour, version } = installation;
  const hasInitialize = FLAVOURS[flavour].product === "mysql" && !/^5\.[0-6]\./.test(version);
  const sqlFile = join(workFolder, "initialise.sql");
  let actions: string[];
  if (hasInitialize) {
    // --initialize-insecure makes root@localhost only, which a TCP connection is not when names are not resolved.
    await writeFile(
      sqlFile,
      "CREATE USER root@127.0.0.1 IDENTIFIED BY '';\nGRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;\n" +
        "GRANT PROXY ON ''@'' TO root@127.0.0.1 WITH GRANT OPTION;\n",
    );
    actions = ["--initialize-insecure", `--init-file=${sqlFile}`, "--innodb-redo-log-capacity=8M", "--mysqlx=OFF"];
  } else {
    await writeFile(sqlFile, await systemTablesSql(installation));
    await mkdir(join(dataFolder, "mysql"), { recursive: true });
    actions = ["--bootstrap", "--innodb-log-file-size=8M", "--innodb-use-native-aio=0"];
  }
  const { file, args, env } = commandOf(installation, installation.mysqld, [
    "--no-defaults",
    ...installation.serverOptions,
    `--datadir=${dataFolder}`,
    // A crash here leaves nothing that anybody would use.
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-buffer-pool-size=64M",
    ...(process.getuid?.() === 0 ? ["--user=root"] : []),
    ...actions,
  ]);
  const result = await runProgram(file, args, { env, ...(hasInitialize ? {} : { inputFile: sqlFile }) });
  // A bootstrap that meets a wrong statement says so and, in some versions, still ends with 0.
  const complaint = result.errors.split("\n").filter((line) => /^ERROR: |\[ERROR\]/.test(line));
  if (result.exitCode !== 0 || complaint.length > 0) {
    throw new ReplicationError(
      "SANDBOX",
      `a data folder for ${flavour} cannot be initialised:\n  ${lastLines(complaint.length > 0 ? complaint.join("\n") : result.errors, 4)}`,
      {
        hint: /No space left|Errcode: 28|error: 28/i.test(result.errors)
          ? "free some space, or set XDG_CACHE_HOME to a folder on another disk"
          : `remove ${cacheFolder(flavour)} and run it again`,
      },
    );
  }
}

/**
 * What mysql_install_db and mariadb-install-db feed to a bootstrapping server. Their files give root@127.0.0.1 every
 * privilege and no password; those of 5.6 make anonymous users too, which would catch users meant for any host.
 */
async function systemTablesSql(installation: ServerInstallation): Promise<string> {
  const { flavour, systemTablesFolder } = installation;
  if (systemTablesFolder === undefined) {
    throw new ReplicationError(
      "SANDBOX",
      `the SQL files that initialise ${flavour} are not beside ${installation.mysqld}`,
      {
        hint: `give a complete server by ${FLAVOURS[flavour].variable}, or unset it to have one fetched`,
      },
    );
  }
  const names = await readdir(systemTablesFolder);
  const prefix = names.includes("mariadb_system_tables.sql") ? "mariadb" : "mysql";
  const wanted = [
    `${prefix}_system_tables.sql`,
    `${prefix}_performance_tables.sql`,
    `${prefix}_system_tables_data.sql`,
    "fill_help_tables.sql",
    "maria_add_gis_sp_bootstrap.sql",
    `${prefix}_sys_schema.sql`,
  ];
  const files = wanted.filter((name) => names.includes(name));
  const texts = await Promise.all(files.map((name) => readFile(join(systemTablesFolder, name), "utf8")));
  const anonymous = FLAVOURS[flavour].product === "mysql" ? ["DELETE FROM mysql.user WHERE User='';\n"] : [];
  return ["USE mysql;\n", ...texts, "\n", ...anonymous].join("");
}
