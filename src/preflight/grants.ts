/** What an account may do, as `SHOW GRANTS` of its own session tells, roles that are active included. */
export interface Grants {
  /** On `*.*`. `ALL PRIVILEGES` stands for everything. */
  global: ReadonlySet<string>;
  /** On `pattern.*`, patterns as the server has them: `_` and `%` are wild. */
  schemas: readonly { pattern: string; privileges: ReadonlySet<string> }[];
  /** Partial revokes (MySQL 8.0.16): schemas taken out of a global grant. */
  revoked: readonly { pattern: string; privileges: ReadonlySet<string> }[];
}

const ON_SCHEMA = /^(GRANT|REVOKE) (.+?) ON (\*|`(?:[^`]|``)*`|'[^']*'|\w+)\.\* (?:TO|FROM) /s;

export function parseGrants(lines: readonly string[]): Grants {
  const global = new Set<string>();
  const schemas = new Map<string, Set<string>>();
  const revoked = new Map<string, Set<string>>();
  for (const line of lines) {
    const match = ON_SCHEMA.exec(line);
    if (match === null) continue;
    const [, verb = "", list = "", on = ""] = match;
    const privileges = list.split(", ").map((name) => name.replace(/^ALL$/, ALL).toUpperCase());
    const pattern = on.replace(/^[`'](.*)[`']$/s, "$1").replaceAll("``", "`");
    const places = verb === "REVOKE" ? revoked : schemas;
    const into = on === "*" && verb === "GRANT" ? global : (places.get(pattern) ?? new Set<string>());
    for (const privilege of privileges) into.add(privilege);
    if (into !== global) places.set(pattern, into);
  }
  const listOf = (places: Map<string, Set<string>>) =>
    [...places].map(([pattern, privileges]) => ({ pattern, privileges }));
  return { global, schemas: listOf(schemas), revoked: listOf(revoked) };
}

const ALL = "ALL PRIVILEGES";

/** Of a static or dynamic privilege that is only ever global. */
export function hasGlobal(grants: Grants, ...anyOf: string[]): boolean {
  return grants.global.has(ALL) || anyOf.some((privilege) => grants.global.has(privilege));
}

/** Whether a privilege covers all of a schema. Grants on single tables are not counted. */
export function hasOnSchema(grants: Grants, privilege: string, schema: string): boolean {
  const has = (privileges: ReadonlySet<string>): boolean => privileges.has(ALL) || privileges.has(privilege);
  const isRevoked = grants.revoked.some(({ pattern, privileges }) => matches(pattern, schema) && has(privileges));
  if (has(grants.global) && !isRevoked) return true;
  return grants.schemas.some(({ pattern, privileges }) => matches(pattern, schema) && has(privileges));
}

function matches(pattern: string, schema: string): boolean {
  const source = pattern.replaceAll(/\\([_%\\])|[_%]|[.+*?^${}()|[\]\\]/g, (found, escaped: string | undefined) => {
    if (escaped !== undefined) return escaped === "\\" ? "\\\\" : escaped;
    return found === "_" ? "." : found === "%" ? ".*" : `\\${found}`;
  });
  return new RegExp(`^${source}$`, "su").test(schema);
}
