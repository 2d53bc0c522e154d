/** An XA identifier as both servers write it into statements: `X'31',X'',1` (sql/xa.cc, serialize_xid). */
export function formatXaId(formatId: number, branch: Buffer, globalLength: number): string {
  const global = branch.toString("hex", 0, globalLength);
  const qualifier = branch.toString("hex", globalLength);
  return `X'${global}',X'${qualifier}',${formatId}`;
}
