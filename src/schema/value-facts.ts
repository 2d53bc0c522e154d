import type { ValueFacts } from "../binlog/columns/value.ts";
import type { Column } from "./catalog.ts";

const MEMBERS = /'((?:[^'\\]|''|\\.)*)'/gs;
const ESCAPES: Readonly<Record<string, string>> = { "0": "\0", n: "\n", r: "\r" };

/** What decoding a value needs to know of its column. */
export function valueFacts(column: Column): ValueFacts {
  const { dataType, columnType } = column;
  const isListed = dataType === "enum" || dataType === "set";
  return {
    unsigned: /\bunsigned\b/i.test(columnType),
    charset: column.charset ?? (BINARY_TYPES.has(dataType) ? "binary" : undefined),
    members: isListed ? membersOf(columnType) : undefined,
    dataType: dataType === "uuid" || dataType === "inet4" || dataType === "inet6" ? dataType : undefined,
  };
}

const BINARY_TYPES = new Set(["binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"]);

/** Of `enum('a','it''s')`: a quote is doubled, a few others are escaped (append_unescaped, sql/sql_show.cc, 8.0). */
function membersOf(columnType: string): string[] {
  return [...columnType.matchAll(MEMBERS)].map(([, member]) =>
    (member ?? "").replace(/''|\\(.)/gs, (_, escaped: string | undefined) =>
      escaped === undefined ? "'" : (ESCAPES[escaped] ?? escaped),
    ),
  );
}
