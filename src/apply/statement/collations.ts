import { characterSetOf, collationName } from "../../schema/collation-names.ts";
import type { ServerKind, TargetFacts } from "./target.ts";

/**
 * MariaDB keeps MySQL's utf8mb4_0900 collations as other names of its NO PAD collations of UCA 14.0 (since 11.4.5): where it does not have the
 * names yet, those are the equals. By language, as both call it.
 */
const UCA_LANGUAGES: Readonly<Record<string, string>> = {
  de_pb: "german2",
  is: "icelandic",
  lv: "latvian",
  ro: "romanian",
  sl: "slovenian",
  pl: "polish",
  et: "estonian",
  es: "spanish",
  sv: "swedish",
  tr: "turkish",
  cs: "czech",
  da: "danish",
  lt: "lithuanian",
  sk: "slovak",
  es_trad: "spanish2",
  la: "roman",
  eo: "esperanto",
  hu: "hungarian",
  hr: "croatian",
  vi: "vietnamese",
};

/** What the target calls the source's collation; undefined when it has no equal. */
export function collationOnTarget(name: string, source: ServerKind, target: TargetFacts): string | undefined {
  return equalNames(name.toLowerCase(), source.flavour, target.flavour).find((equal) => target.collations.has(equal));
}

/** The same by id; undefined when the id is unknown or the target has no equal. */
export function collationIdOnTarget(id: number, source: ServerKind, target: TargetFacts): string | undefined {
  const name = collationName(id, source.flavour);
  return name === undefined ? undefined : collationOnTarget(name, source, target);
}

/** The character set of a collation id as the target spells it; undefined when the target has none of that name. */
export function characterSetOnTarget(id: number, source: ServerKind, target: TargetFacts): string | undefined {
  const name = collationName(id, source.flavour);
  if (name === undefined) return undefined;
  const characterSet = characterSetOf(name);
  return spellings(characterSet === "binary" ? characterSet : `${characterSet}_bin`)
    .filter((bin) => target.collations.has(bin))
    .map(characterSetOf)[0];
}

function equalNames(name: string, source: "mysql" | "mariadb", target: "mysql" | "mariadb"): string[] {
  if (source === target) return spellings(name);
  const croatian = /^([a-z0-9]+)_croatian(_mysql561)?_ci$/.exec(name);
  if (croatian !== null && !/^(latin2|cp1250)$/.test(croatian[1] as string)) {
    if (source === "mysql") return spellings(`${croatian[1]}_croatian_mysql561_ci`);
    return croatian[2] === undefined ? [] : spellings(`${croatian[1]}_croatian_ci`);
  }
  return [...spellings(name), ...(source === "mysql" ? uca1400Of(name) : uca900Of(name))];
}

/** The three-byte character set had the name utf8 before. */
function spellings(name: string): string[] {
  if (name.startsWith("utf8mb3_")) return [name, name.replace("utf8mb3_", "utf8_")];
  return name.startsWith("utf8_") ? [name.replace("utf8_", "utf8mb3_"), name] : [name];
}

function uca1400Of(name: string): string[] {
  if (name === "utf8mb4_0900_bin") return ["utf8mb4_nopad_bin"];
  const parts = /^utf8mb4_(?:([a-z_]+)_)?0900_(a[is]_c[is])$/.exec(name);
  if (parts === null) return [];
  if (parts[1] === undefined) return [`utf8mb4_uca1400_nopad_${parts[2]}`];
  const language = UCA_LANGUAGES[parts[1]];
  return language === undefined ? [] : [`utf8mb4_uca1400_${language}_nopad_${parts[2]}`];
}

function uca900Of(name: string): string[] {
  if (name === "utf8mb4_nopad_bin") return ["utf8mb4_0900_bin"];
  const parts = /^utf8mb4_uca1400_(?:([a-z0-9]+)_)?nopad_(a[is]_c[is])$/.exec(name);
  if (parts === null) return [];
  if (parts[1] === undefined) return [`utf8mb4_0900_${parts[2]}`];
  const language = Object.entries(UCA_LANGUAGES).find(([, mariadb]) => mariadb === parts[1])?.[0];
  return language === undefined ? [] : [`utf8mb4_${language}_0900_${parts[2]}`];
}
