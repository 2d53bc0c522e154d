import { ReplicationError } from "../../base/error.ts";
import type { UserVarEvent } from "../../binlog/events/user-var.ts";
import { characterSetOnTarget, collationIdOnTarget } from "./collations.ts";
import { collationName } from "../../schema/collation-names.ts";
import { identifier } from "./context.ts";
import { isMariadb, type ServerKind, type TargetFacts } from "./target.ts";

/** `SET @name:=value` with the very type, character set and collation that the source's variable had; UTF-8 text. */
export function setUserVariable(variable: UserVarEvent, source: ServerKind, target: TargetFacts): string {
  return `SET @${identifier(variable.name.toString("utf8"))}:=${valueSql(variable, source, target)}`;
}

function valueSql(variable: UserVarEvent, source: ServerKind, target: TargetFacts): string {
  const { type, value } = variable;
  switch (type) {
    case "null":
      return "NULL";
    case "integer":
      // A bare literal is signed as long as it fits.
      return variable.unsigned ? `CAST(${value.readBigUInt64LE()} AS UNSIGNED)` : String(value.readBigInt64LE());
    case "real":
      // With an exponent it is a double, without it a decimal. The shortest text that reads back as the same bits.
      return value.readDoubleLE().toExponential();
    case "decimal":
      return decimalText(value);
    case "string":
      return stringSql(variable, source, target);
  }
}

function stringSql(variable: UserVarEvent, source: ServerKind, target: TargetFacts): string {
  const { collation, value, dataType } = variable;
  const hex = `X'${value.toString("hex")}'`;
  // MariaDB's own types travel in their text form and get it back by CAST.
  if (dataType !== undefined && isMariadb(target, 10, 5)) return `CAST(${hex} AS ${dataType})`;
  const characterSet = characterSetOnTarget(collation, source, target);
  const name = collationIdOnTarget(collation, source, target);
  if (characterSet === undefined || name === undefined) {
    throw new ReplicationError(
      "UNSUPPORTED",
      `the target has no collation equal to ${collationName(collation, source.flavour) ?? `number ${collation}`}, which the user variable @${variable.name.toString("utf8")} has`,
      { hint: "use collations that both servers know" },
    );
  }
  return characterSet === "binary" ? `_binary ${hex}` : `_${characterSet} ${hex} COLLATE ${name}`;
}

/** Bytes for so many digits of a decimal's group of nine (`dig2bytes`, strings/decimal.c). */
const DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;
const GROUP_DIGITS = 9;

/**
 * A decimal as a literal with all its digits after the point: precision, scale, then groups of nine digits as big-endian numbers of up to four bytes, the sign in
 * the first bit, all bits turned for negative ones (`decimal2bin`, strings/decimal.c).
 */
export function decimalText(value: Buffer): string {
  const precision = value[0] ?? 0;
  const scale = value[1] ?? 0;
  const digits = Buffer.from(value.subarray(2));
  const negative = ((digits[0] ?? 0x80) & 0x80) === 0;
  digits[0] = (digits[0] ?? 0) ^ 0x80;
  if (negative) for (const [i, byte] of digits.entries()) digits[i] = byte ^ 0xff;
  let at = 0;
  const group = (count: number): string => {
    const bytes = DIGIT_BYTES[count] ?? 4;
    const number = bytes === 0 ? 0 : digits.readUIntBE(at, bytes);
    at += bytes;
    return count === 0 ? "" : String(number).padStart(count, "0");
  };
  const whole = precision - scale;
  let text = group(whole % GROUP_DIGITS);
  for (let left = Math.floor(whole / GROUP_DIGITS); left > 0; left--) text += group(GROUP_DIGITS);
  let fraction = "";
  for (let left = Math.floor(scale / GROUP_DIGITS); left > 0; left--) fraction += group(GROUP_DIGITS);
  fraction += group(scale % GROUP_DIGITS);
  const integer = text.replace(/^0+(?=\d)/, "") || "0";
  return `${negative ? "-" : ""}${integer}${scale === 0 ? "" : `.${fraction}`}`;
}
