/**
 * MySQL's JSON holds DECIMAL numbers (`JSON_SET(doc, '$.price', 9.90)` puts one in), but its text reads back as DOUBLE: 9.90 becomes 9.9, and digits beyond 17 are
 * gone. So the decimals of a document, told by their text, are put back one by one.
 */

/** A number in a document that only DECIMAL prints so: its JSON path, as MySQL writes paths, and its text. */
export interface ExactDecimal {
  path: string;
  text: string;
}

/** A digit, a dot and a digit, or 18 digits in a row: without either nothing can be a DECIMAL that DOUBLE or BIGINT does not print alike. */
const SUSPICIOUS = /\d\.\d|\d{18}/;

/** `json`: as the server prints it, so it is well formed. */
export function exactDecimals(json: string): ExactDecimal[] {
  if (!SUSPICIOUS.test(json)) return [];
  const found: ExactDecimal[] = [];
  let at = 0;
  const skipSpace = (): void => {
    while (json[at] === " ") at++;
  };
  const readString = (): string => {
    const start = at++;
    while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
    return json.slice(start, ++at);
  };
  const readValue = (path: string): void => {
    skipSpace();
    const first = json[at];
    if (first === "{" || first === "[") {
      readMembers(path, first === "{");
    } else if (first === '"') {
      readString();
    } else {
      const start = at;
      while (at < json.length && !",]} ".includes(json[at] as string)) at++;
      const text = json.slice(start, at);
      if (isDecimalOnly(text)) found.push({ path, text });
    }
  };
  const readMembers = (path: string, isObject: boolean): void => {
    const end = isObject ? "}" : "]";
    at++;
    skipSpace();
    for (let index = 0; json[at] !== end; index++) {
      let step = `[${index}]`;
      if (isObject) {
        step = `.${readString()}`;
        skipSpace();
        at++;
      }
      readValue(path + step);
      skipSpace();
      if (json[at] === ",") at++;
      skipSpace();
    }
    at++;
  };
  readValue("$");
  return found;
}

const LARGEST_UNSIGNED = 18_446_744_073_709_551_615n;
const SMALLEST_SIGNED = -9_223_372_036_854_775_808n;

function isDecimalOnly(text: string): boolean {
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text);
    return value > LARGEST_UNSIGNED || value < SMALLEST_SIGNED;
  }
  if (!/^-?\d+\.\d+$/.test(text)) return false;
  const asDouble = String(Number(text));
  return text !== asDouble && text !== `${asDouble}.0`;
}

/** The SQL that gives the document with its decimals exact; `document` is an SQL expression of type JSON. */
export function withExactDecimals(document: string, decimals: readonly ExactDecimal[]): string {
  return decimals.reduce((expression, { path, text }) => {
    const digits = text.replace(/^-/, "");
    const scale = digits.includes(".") ? digits.length - digits.indexOf(".") - 1 : 0;
    const precision = Math.max(1, digits.replace(".", "").replace(/^0+/, "").length, scale);
    const hexPath = Buffer.from(path, "utf8").toString("hex");
    return `JSON_SET(${expression},_utf8mb4 X'${hexPath}',CAST('${text}' AS DECIMAL(${precision},${scale})))`;
  }, document);
}
