/** A string as an expression, whatever the session's sql_mode and character set: hexadecimal, converted from UTF-8. */
export function sqlText(text: string): string {
  return text === "" ? "''" : `CONVERT(X'${Buffer.from(text).toString("hex")}' USING utf8mb4)`;
}

/** A string where the grammar takes a literal only (`SHOW BINLOG EVENTS IN …`). For names of files: a backslash in it is refused. */
export function sqlLiteral(text: string): string {
  if (text.includes("\\"))
    throw new RangeError("a backslash in a literal means different things in different sql_modes");
  return `'${text.replaceAll("'", "''")}'`;
}
