import { AppliedAhead } from "../../src/engine/ahead.ts";
import { parseGtids } from "../../src/engine/progress.ts";
import { GtidSet } from "../../src/gtid/mysql.ts";
import type { Session } from "../../src/wire/session.ts";

/** Whether the target has transactions without all of those before them; nothing is locked for it. */
export async function hasGaps(target: Session, gtid: "own" | "preserve"): Promise<boolean> {
  if (gtid === "preserve") {
    const executed = GtidSet.parse((await target.queryValue("SELECT @@GLOBAL.gtid_executed")) ?? "");
    return executed.entries().some(([, , intervals]) => intervals.length > 1);
  }
  const rows = await target.query("SELECT * FROM abreast.checkpoint ORDER BY transactions DESC");
  const progress = {
    source: { file: "", position: 0 },
    gtids: parseGtids(rows[0]?.["gtids"] ?? ""),
    transactions: BigInt(rows[0]?.["transactions"] ?? 0),
  };
  const ahead = AppliedAhead.parse(rows.map((row) => row["ahead"] ?? ""));
  return ahead.beyond(progress).size > 0n;
}
