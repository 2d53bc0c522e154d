import { dirname } from "node:path";
import { FLAVOURS } from "./flavours.ts";
import type { ServerInstallation } from "./installation.ts";

export interface ServerPlace {
  dataFolder: string;
  socketFile: string;
  pidFile: string;
  port: number;
  serverId: number;
}

/**
 * The options every local server has. Durability (`sync_binlog`, `innodb_flush_log_at_trx_commit`), character sets and SQL
 * mode stay the server's own defaults; the caller's options come last and win.
 */
export function serverArguments(
  installation: ServerInstallation,
  place: ServerPlace,
  options: readonly string[],
): string[] {
  return [
    "--no-defaults",
    ...installation.serverOptions,
    ...(process.getuid?.() === 0 ? ["--user=root"] : []),
    `--datadir=${place.dataFolder}`,
    `--socket=${place.socketFile}`,
    `--pid-file=${place.pidFile}`,
    // A MariaDB that starts removes every #sql file of its tmpdir, also those of a server that runs; that one then crashes.
    `--tmpdir=${dirname(place.socketFile)}`,
    "--bind-address=127.0.0.1",
    `--port=${place.port}`,
    "--skip-name-resolve",
    `--server-id=${place.serverId}`,
    "--log-bin=binlog",
    "--max-allowed-packet=1G",
    "--innodb-buffer-pool-size=256M",
    "--local-infile=ON",
    "--secure-file-priv=",
    ...flavourArguments(installation),
    ...options,
  ];
}

function flavourArguments(installation: ServerInstallation): string[] {
  const { flavour, version } = installation;
  if (FLAVOURS[flavour].product === "mariadb") return ["--binlog-format=ROW", "--log-slave-updates"];
  const gtid = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
  // Row format and logging of replicated changes became the defaults later; Linux AIO needs more than every container gives.
  if (version.startsWith("5.6."))
    return [...gtid, "--binlog-format=ROW", "--log-slave-updates", "--innodb-use-native-aio=0"];
  return [...gtid, "--mysqlx=OFF"];
}
