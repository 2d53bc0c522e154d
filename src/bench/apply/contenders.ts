import { type AbreastContender, type Contender, nativeContender } from "../contest/contender.ts";
import type { ServerFlavour } from "../../sandbox/flavours.ts";

/** Workers of the engine where the bench does not say. */
const OWN_WORKERS = 4;

/**
 * Everybody who takes part, natives and ours in turn, so that a machine that slows down in the middle slows both. `workers` counts those of the server's own
 * replica (MariaDB's at the most workers also in conservative mode) and, on MySQL, of ours with the source's GTIDs kept: the same number for both.
 */
export function contendersFor(
  server: ServerFlavour,
  workers: readonly number[],
  roundTripMs: number | undefined,
): Contender[] {
  const natives = workers.map((count) => nativeContender(server, count));
  const most = Math.max(...workers);
  if (server.startsWith("mariadb-") && most > 1) {
    natives.push({ ...nativeContender(server, most), name: `native-${most}-conservative`, policy: "conservative" });
  }
  const own = abreast("abreast-own", OWN_WORKERS);
  const ours: AbreastContender[] = [
    own,
    ...(roundTripMs === undefined ? [] : [{ ...own, name: `abreast-own-${roundTripMs}ms`, roundTripMs }]),
    ...(server.startsWith("mysql-")
      ? workers.map((count) => abreast(`abreast-preserve-${count}`, count, { gtid: "preserve" }))
      : []),
    abreast("abreast-relaxed", OWN_WORKERS, { commitOrder: "relaxed" }),
  ];
  const inTurn: Contender[] = [];
  for (let i = 0; i < Math.max(natives.length, ours.length); i++) {
    inTurn.push(...natives.slice(i, i + 1), ...ours.slice(i, i + 1));
  }
  return inTurn;
}

function abreast(name: string, workers: number, more: Partial<AbreastContender> = {}): AbreastContender {
  return { name, who: "abreast", workers, policy: "auto", commitOrder: "preserve", gtid: "own", ...more };
}
