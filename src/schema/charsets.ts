/** Bytes of a character at most (information_schema.CHARACTER_SETS, MAXLEN, of MySQL 9.7 and MariaDB 11.8); of all others 1. */
const BYTES_MAX: Readonly<Record<string, number>> = {
  big5: 2,
  cp932: 2,
  euckr: 2,
  eucjpms: 3,
  gb18030: 4,
  gb2312: 2,
  gbk: 2,
  sjis: 2,
  ucs2: 2,
  ujis: 3,
  utf16: 4,
  utf16le: 4,
  utf32: 4,
  utf8mb3: 3,
  utf8mb4: 4,
};

/** Languages of default collations; of all others `general`. */
const LANGUAGES: Readonly<Record<string, string>> = {
  big5: "chinese",
  cp932: "japanese",
  dec8: "swedish",
  eucjpms: "japanese",
  euckr: "korean",
  gb18030: "chinese",
  gb2312: "chinese",
  gbk: "chinese",
  hp8: "english",
  latin1: "swedish",
  latin5: "turkish",
  sjis: "japanese",
  swe7: "swedish",
  tis620: "thai",
  ujis: "japanese",
};

/** `charset` as `charsetName` tells it. */
export const characterBytesMax = (charset: string): number => BYTES_MAX[charset] ?? 1;

/**
 * The collation that a character set has where a definition names none. That of utf8mb4 is another one since MySQL 8.0 and MariaDB 11.6, but those write it into
 * their definitions (store_create_info, sql/sql_show.cc, 8.0).
 */
export const defaultCollationOf = (charset: string): string =>
  charset === "binary" ? charset : `${charset}_${LANGUAGES[charset] ?? "general"}_ci`;

/** MySQL since 8.0 pads with nothing in its collations of Unicode 9.0, MariaDB in those that say so; all others with spaces. */
export const padsSpace = (collation: string): boolean =>
  collation !== "binary" && !collation.includes("_nopad_") && !collation.includes("_0900_");
