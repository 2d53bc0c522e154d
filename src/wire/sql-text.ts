/** A string literal, whatever the session's sql_mode and character set: hexadecimal, converted from UTF-8. */
export function sqlText(text: string): string {
  return text === "" ? "''" : `CONVERT(X'${Buffer.from(text).toString("hex")}' USING utf8mb4)`;
}
