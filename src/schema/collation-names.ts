/*
 * Names of collations by id, as SHOW COLLATION of MySQL 9.7 and MariaDB 11.8 gives them. An id means one thing in both servers except five
 * (SAME_ID_OTHER_NAME); ids from 512 on are MariaDB's own.
 */

/** A character set, then its collations: an id, and the names from that id on (`*`: the 24 languages of UNICODE). */
const MYSQL_COLLATIONS = `
big5 1 chinese_ci 84 bin
latin2 2 czech_cs 9 general_ci 21 hungarian_ci 27 croatian_ci 77 bin
dec8 3 swedish_ci 69 bin
cp850 4 general_ci 80 bin
latin1 5 german1_ci 8 swedish_ci 15 danish_ci 31 german2_ci 47 bin general_ci general_cs 94 spanish_ci
hp8 6 english_ci 72 bin
koi8r 7 general_ci 74 bin
swe7 10 swedish_ci 82 bin
ascii 11 general_ci 65 bin
ujis 12 japanese_ci 91 bin
sjis 13 japanese_ci 88 bin
cp1251 14 bulgarian_ci 23 ukrainian_ci 50 bin general_ci general_cs
hebrew 16 general_ci 71 bin
tis620 18 thai_ci 89 bin
euckr 19 korean_ci 85 bin
latin7 20 estonian_cs 41 general_ci general_cs 79 bin
koi8u 22 general_ci 75 bin
gb2312 24 chinese_ci 86 bin
greek 25 general_ci 70 bin
cp1250 26 general_ci 34 czech_cs 44 croatian_ci 66 bin 99 polish_ci
gbk 28 chinese_ci 87 bin
cp1257 29 lithuanian_ci 58 bin general_ci
latin5 30 turkish_ci 78 bin
armscii8 32 general_ci 64 bin
utf8mb3 33 general_ci 76 tolower_ci 83 bin 192 * 223 general_mysql500_ci
ucs2 35 general_ci 90 bin 128 * 159 general_mysql500_ci
cp866 36 general_ci 68 bin
keybcs2 37 general_ci 73 bin
macce 38 general_ci 43 bin
macroman 39 general_ci 53 bin
cp852 40 general_ci 81 bin
utf8mb4 45 general_ci bin 224 * 255 0900_ai_ci de_pb_0900_ai_ci is_0900_ai_ci lv_0900_ai_ci ro_0900_ai_ci
  sl_0900_ai_ci pl_0900_ai_ci et_0900_ai_ci es_0900_ai_ci sv_0900_ai_ci tr_0900_ai_ci cs_0900_ai_ci
  da_0900_ai_ci lt_0900_ai_ci sk_0900_ai_ci es_trad_0900_ai_ci la_0900_ai_ci 273 eo_0900_ai_ci hu_0900_ai_ci
  hr_0900_ai_ci 277 vi_0900_ai_ci 0900_as_cs de_pb_0900_as_cs is_0900_as_cs lv_0900_as_cs ro_0900_as_cs
  sl_0900_as_cs pl_0900_as_cs et_0900_as_cs es_0900_as_cs sv_0900_as_cs tr_0900_as_cs cs_0900_as_cs
  da_0900_as_cs lt_0900_as_cs sk_0900_as_cs es_trad_0900_as_cs la_0900_as_cs 296 eo_0900_as_cs hu_0900_as_cs
  hr_0900_as_cs 300 vi_0900_as_cs 303 ja_0900_as_cs ja_0900_as_cs_ks 0900_as_ci ru_0900_ai_ci ru_0900_as_cs
  zh_0900_as_cs 0900_bin nb_0900_ai_ci nb_0900_as_cs nn_0900_ai_ci nn_0900_as_cs sr_latn_0900_ai_ci
  sr_latn_0900_as_cs bs_0900_ai_ci bs_0900_as_cs bg_0900_ai_ci bg_0900_as_cs gl_0900_ai_ci gl_0900_as_cs
  mn_cyrl_0900_ai_ci mn_cyrl_0900_as_cs
utf16 54 general_ci bin 101 *
utf16le 56 general_ci 62 bin
cp1256 57 general_ci 67 bin
utf32 60 general_ci bin 160 *
geostd8 92 general_ci bin
cp932 95 japanese_ci bin
eucjpms 97 japanese_ci bin
gb18030 248 chinese_ci bin unicode_520_ci
`;

const UNICODE = (
  "unicode icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech danish lithuanian slovak spanish2 roman " +
  "persian esperanto hungarian sinhala german2 croatian unicode_520 vietnamese"
).split(" ");

/** MariaDB took the name for a Croatian of its own and calls MySQL's by the version that brought it. */
const CROATIAN_OF_MYSQL = [122, 149, 181, 213, 245];

/** MariaDB: base id of each Unicode character set's own collations. */
const MARIADB_OWN: Readonly<Record<string, number>> = { utf8mb3: 576, utf8mb4: 608, ucs2: 640, utf16: 672, utf32: 736 };
const MARIADB_OWN_NAMES = ["croatian_ci", "myanmar_ci", "thai_520_w2", "general1400_as_ci"];

/** MariaDB: the NO PAD variant of a collation has its id and this. */
const NOPAD_OFFSET = 1024;

/** MariaDB 10.10+: `2048 + character set × 256 + language × 8 + nopad × 4 + accents × 2 + case` (strings/ctype-uca1400.h). */
const UCA1400_OFFSET = 2048;
const UCA1400_CHARACTER_SETS = ["utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32"];
const UCA1400_LANGUAGES = (
  " icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech danish lithuanian slovak spanish2 roman " +
  "persian esperanto hungarian sinhala german2 - - vietnamese croatian"
).split(" ");

function parse(text: string): Map<number, string> {
  const names = new Map<number, string>([[63, "binary"]]);
  let characterSet = "";
  let id = 0;
  for (const line of text.trim().split("\n")) {
    const words = line.trim().split(" ");
    if (!line.startsWith(" ")) characterSet = words.shift() as string;
    for (const word of words) {
      if (/^\d+$/.test(word)) id = Number(word);
      else if (word === "*") for (const language of UNICODE) names.set(id++, `${characterSet}_${language}_ci`);
      else names.set(id++, `${characterSet}_${word}`);
    }
  }
  return names;
}

const NAMES = parse(MYSQL_COLLATIONS);

/** `utf8mb4_general_ci` for 45. `utf8mb3_…` is what servers before MySQL 8.0.30 and MariaDB 10.6 call `utf8_…`. Undefined for an unknown id. */
export function collationName(id: number, flavour: "mysql" | "mariadb"): string | undefined {
  const name = NAMES.get(id);
  if (flavour === "mysql") return name;
  if (CROATIAN_OF_MYSQL.includes(id)) return name?.replace("croatian", "croatian_mysql561");
  if (name !== undefined) return name;
  if (id >= UCA1400_OFFSET) return uca1400Name(id - UCA1400_OFFSET);
  if (id > NOPAD_OFFSET) return collationName(id - NOPAD_OFFSET, flavour)?.replace(/_(ci|cs|bin)$/, "_nopad_$1");
  for (const [characterSet, base] of Object.entries(MARIADB_OWN)) {
    const own = MARIADB_OWN_NAMES[id - base];
    if (own !== undefined) return `${characterSet}_${own}`;
  }
  return undefined;
}

function uca1400Name(bits: number): string | undefined {
  const characterSet = UCA1400_CHARACTER_SETS[bits >> 8];
  const language = UCA1400_LANGUAGES[(bits >> 3) & 31];
  if (characterSet === undefined || language === undefined || language === "-") return undefined;
  const parts = [characterSet, "uca1400", language, (bits & 4) === 0 ? "" : "nopad"];
  return [...parts.filter((part) => part !== ""), (bits & 2) === 0 ? "ai" : "as", (bits & 1) === 0 ? "ci" : "cs"].join(
    "_",
  );
}

/** The character set that a collation's name begins with. */
export function characterSetOf(collation: string): string {
  return collation === "binary" ? collation : collation.slice(0, collation.indexOf("_"));
}
