import { collationName } from "../../src/schema/collation-names.ts";
import { serverKind, type TargetFacts } from "../../src/apply/statement/target.ts";

/** What `readTargetFacts` reads of a server of this version: the collations by the ids that its series knows. */
export function factsOf(version: string): TargetFacts {
  const kind = serverKind(version);
  const { major } = kind.version;
  const last = kind.flavour === "mariadb" ? 3300 : major >= 8 ? 323 : 247;
  const collations = new Set<string>();
  for (let id = 1; id <= last; id++) {
    // MariaDB has the names of UCA 9.0 only since 11.4.5, and gb18030 never.
    if (kind.flavour === "mariadb" && id >= 248 && id <= 323) continue;
    const name = collationName(id, kind.flavour);
    if (name !== undefined) collations.add(major < 8 ? name.replace("utf8mb3_", "utf8_") : name);
  }
  return { ...kind, collations };
}
