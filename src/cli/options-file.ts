import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Pair } from "yaml";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";
import { didYouMean } from "./nearest.ts";
import { OPTIONS, OPTIONS_PAGE, type Given, type OptionName } from "./options.ts";

export const OPTIONS_FILE = "abreast.yaml";
const ONE_PER_LINE = "write one option per line, like workers: 4";

/** The options file of a folder, if it has one. */
export function findOptionsFile(folder: string): string | undefined {
  const file = path.join(folder, OPTIONS_FILE);
  return existsSync(file) ? file : undefined;
}

/**
 * What an options file gives, by option. Values are text as written, so `source-password: 0123` stays what it is.
 * @throws ReplicationError CONFIG with file and line, which never quotes a value.
 */
export function readOptionsFile(file: string): ReadonlyMap<OptionName, Given> {
  const name = path.basename(file);
  const lines = new LineCounter();
  // Pretty errors quote the line, and the password in it.
  const document = parseDocument(readText(file), { schema: "failsafe", lineCounter: lines, prettyErrors: false });
  checkDocument(document, name, lines);
  if (!isMap(document.contents)) return new Map();
  return new Map(document.contents.items.map((pair) => readPair(pair, name, lines)));
}

function checkDocument(document: Document, name: string, lines: LineCounter): void {
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    const { line, col } = lines.linePos(mistake.pos[0]);
    // Its message may quote the text too; its code cannot.
    const kind = mistake.code.toLowerCase().replaceAll("_", " ");
    throw new ReplicationError("CONFIG", `${name}, line ${line}, column ${col} is no YAML: ${kind}`, {
      hint: ONE_PER_LINE,
    });
  }
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && contents.value === "");
  if (!isEmpty && !isMap(contents)) {
    const what = isSeq(contents)
      ? "its lines begin with a dash, which makes them no options"
      : "there are no options in it";
    throw new ReplicationError("CONFIG", `${name} cannot be used: ${what}`, { hint: ONE_PER_LINE });
  }
}

function readPair({ key, value }: Pair, name: string, lines: LineCounter): [OptionName, Given] {
  const word = isScalar(key) ? String(key.value) : "";
  const line = lines.linePos((isScalar(key) ? key.range?.[0] : undefined) ?? 0).line;
  const option = [...OPTIONS.values()].find((option) => option.key === word);
  if (option === undefined) {
    const keys = [...OPTIONS.values()].map((option) => option.key);
    throw new ReplicationError("CONFIG", `${name}, line ${line} has an unknown option ${word}`, {
      hint: didYouMean(word, keys) ?? OPTIONS_PAGE,
    });
  }
  const origin = `${option.key} in ${name}, line ${line}`;
  if (!isScalar(value)) throw new ReplicationError("CONFIG", `${origin} has no single value`, { hint: ONE_PER_LINE });
  if (value.value === "" && value.type === "PLAIN") {
    throw new ReplicationError("CONFIG", `${origin} has no value`, { hint: "give one, or remove the line" });
  }
  return [option.name, { value: value.value, origin }];
}

/** @throws ReplicationError CONFIG when a file that an option names cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ReplicationError("CONFIG", `the file ${file} cannot be read: ${systemReason(error)}`, {
      hint: "check its name and permissions",
      cause: error,
    });
  }
}
