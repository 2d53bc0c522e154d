import path from "node:path";

/**
 * The rules of the house that a compiler does not know: layers, purity, dead files, file length, names of tests, output. ARCHITECTURE.md quotes the
 * table of layers. A rule takes files as text, so that tidy.test.ts can feed it bad samples.
 */
export interface SourceFile {
  /** From the project's root, with `/`: `src/wire/packet.ts`. */
  path: string;
  text: string;
}

const VALUES = ["base"] as const;
const EVENTS = [...VALUES, "gtid", "binlog"] as const;
const TRANSACTIONS = [...EVENTS, "transaction"] as const;
const TARGET = [...TRANSACTIONS, "wire", "schema"] as const;
const STREAM = [...TRANSACTIONS, "wire", "relay"] as const;
const STAGES = [...TARGET, "relay", "schedule", "source", "apply"] as const;

/** What each folder of src/ may import, itself aside. Imports point one way: no folder is reachable from itself. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  gtid: VALUES,
  binlog: [...VALUES, "gtid"],
  transaction: EVENTS,
  wire: EVENTS,
  schema: [...TRANSACTIONS, "wire"],
  schedule: [...TRANSACTIONS, "schema"],
  relay: TRANSACTIONS,
  source: STREAM,
  apply: [...TARGET, "relay", "schedule"],
  copy: STAGES,
  verify: STAGES,
  preflight: STAGES,
  engine: [...STAGES, "copy"],
  inspect: [...TRANSACTIONS, "schema", "schedule", "chart"],
  chart: VALUES,
  simulate: [...TRANSACTIONS, "schema", "schedule", "chart", "inspect"],
  calibrate: [...TARGET, "relay", "schedule", "apply", "engine", "simulate"],
  observe: VALUES,
  sandbox: VALUES,
  http: [...VALUES, "transaction", "engine"],
  bench: [
    ...STAGES,
    "copy",
    "verify",
    "preflight",
    "engine",
    "observe",
    "sandbox",
    "chart",
    "inspect",
    "simulate",
    "calibrate",
  ],
  cli: [
    ...STAGES,
    "copy",
    "verify",
    "preflight",
    "engine",
    "observe",
    "sandbox",
    "http",
    "bench",
    "inspect",
    "simulate",
    "calibrate",
  ],
};

/** Folders whose answers depend on their arguments alone: no clock, no timers, no randomness, no I/O. */
export const PURE_FOLDERS = ["gtid", "binlog", "transaction", "schedule", "chart", "simulate", "cli/render"] as const;

/** Reads files of the program itself, whose text is a constant as that of an imported module is. */
const PART_OF_THE_PROGRAM = "src/chart/browser-code.ts";

/** A decompressor and a checksum are functions of their bytes. */
const PURE_NODE_MODULES = new Set(["node:zlib"]);

const IMPURE = [
  /\bDate\.now\b/,
  /\bnew Date\(\s*\)/,
  /\bDate\(\s*\)/,
  /\bperformance\b/,
  /\bset(?:Timeout|Interval|Immediate)\b/,
  /\bqueueMicrotask\b/,
  /\bMath\.random\b/,
  /\bcrypto\b/,
  /\bprocess\b/,
  /\bfetch\(/,
] as const;

const FILE_LINES_MAX = 450;

/** Every broken rule, one line each: `src/wire/packet.ts: …`. */
export function brokenRules(files: readonly SourceFile[]): string[] {
  return [
    ...files.flatMap((file) => [
      ...brokenLayers(file),
      ...brokenPurity(file),
      ...brokenLength(file),
      ...brokenTestName(file, files),
      ...brokenOutput(file),
    ]),
    ...deadFiles(files),
  ];
}

function brokenLayers(file: SourceFile): string[] {
  const from = layerOf(file.path);
  if (from === undefined || isTest(file)) return [];
  const allowed = LAYERS[from];
  if (allowed === undefined) return [`${file.path}: the folder ${from} is not in the table of layers`];
  return importsOf(file)
    .filter(
      ({ to }) =>
        to !== undefined && (isTestOnly(to) || (layerOf(to) !== from && !allowed.includes(layerOf(to) ?? ""))),
    )
    .map(({ to }) => `${file.path}: ${from} may not import ${to}`);
}

function brokenPurity(file: SourceFile): string[] {
  if (!isPure(file.path) || isTest(file) || file.path === PART_OF_THE_PROGRAM) return [];
  const code = withoutComments(file.text).replaceAll(/"(?:\\.|[^"\\\n])*"/g, '""');
  const impure = IMPURE.map((pattern) => pattern.exec(code)?.[0]).filter((found) => found !== undefined);
  const imports = importsOf(file).filter(({ specifier, to, isType }) => {
    if (to === undefined) return specifier.startsWith("node:") && !PURE_NODE_MODULES.has(specifier);
    return !isType && !isPure(to) && layerOf(to) !== "base";
  });
  return [
    ...impure.map((found) => `${file.path}: is pure, but has ${found}`),
    ...imports.map(({ specifier }) => `${file.path}: is pure, but imports ${specifier}`),
  ];
}

function brokenLength(file: SourceFile): string[] {
  const lines = file.text.trimEnd().split("\n").length;
  if (lines <= FILE_LINES_MAX || isTest(file)) return [];
  return [`${file.path}: has ${lines} lines, more than ${FILE_LINES_MAX}: it has two jobs`];
}

/** A test that starts real servers says so in its name, or stands with the end-to-end tests. */
function brokenTestName(file: SourceFile, files: readonly SourceFile[]): string[] {
  if (
    !file.path.endsWith(".test.ts") ||
    /\.(?:mysql|mariadb)\.test\.ts$/.test(file.path) ||
    file.path.startsWith("test/")
  )
    return [];
  return needsServer(file, files, new Set()) ? [`${file.path}: needs a server, and its name does not say which`] : [];
}

function needsServer(file: SourceFile, files: readonly SourceFile[], seen: Set<string>): boolean {
  if (seen.has(file.path)) return false;
  seen.add(file.path);
  return importsOf(file).some(({ to, isType }) => {
    if (to === undefined || isType) return false;
    if (to === "src/sandbox/start.ts") return true;
    const helper =
      to.startsWith("test/") || isTestOnly(to) ? files.find((candidate) => candidate.path === to) : undefined;
    return helper !== undefined && needsServer(helper, files, seen);
  });
}

function brokenOutput(file: SourceFile): string[] {
  if (layerOf(file.path) === undefined || ["cli", "observe"].includes(layerOf(file.path) ?? "") || isTest(file))
    return [];
  return /\bconsole\./.test(withoutComments(file.text)) ? [`${file.path}: writes to the console`] : [];
}

/**
 * Where reaching begins: the command line, and what waits for a command that is still to come. A name of the second kind that the command line reaches by
 * itself is to be removed here.
 */
const COMMAND_LINE = "src/cli/main.ts";
const AWAITED_BY_INSPECT = ["src/binlog/decode.ts"] as const;

/** What cannot be reached from the command line: nothing runs it, or only tests do. */
function deadFiles(files: readonly SourceFile[]): string[] {
  const reached = reachedFrom([COMMAND_LINE], files);
  const awaited = AWAITED_BY_INSPECT.filter((file) => files.some(({ path }) => path === file));
  const alive = new Set([...reached, ...reachedFrom(awaited, files)]);
  return [
    ...files
      .filter((file) => layerOf(file.path) !== undefined && !isTest(file) && !alive.has(file.path))
      .map((file) => `${file.path}: cannot be reached from the command line`),
    ...awaited.filter((file) => reached.has(file)).map((file) => `${file}: is reached by now, and needs no exception`),
  ];
}

function reachedFrom(roots: readonly string[], files: readonly SourceFile[]): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const waiting = [...roots];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const file = byPath.get(next);
    if (file === undefined || reached.has(next)) continue;
    reached.add(next);
    waiting.push(...importsOf(file).flatMap(({ to }) => to ?? []));
  }
  return reached;
}

interface Import {
  specifier: string;
  /** The file in this project; undefined for a package. */
  to: string | undefined;
  isType: boolean;
}

function importsOf(file: SourceFile): Import[] {
  const code = withoutComments(file.text);
  const found: Import[] = [];
  const add = (specifier: string, isType: boolean): void => {
    const to = specifier.startsWith(".") ? path.posix.join(path.posix.dirname(file.path), specifier) : undefined;
    found.push({ specifier, to, isType });
  };
  for (const match of code.matchAll(/\b(?:import|export)(\s+type)?\s*(?:[\w*${}\s,]+?from\s*)?"([^"\n]+)"/g)) {
    add(match[2] ?? "", match[1] !== undefined);
  }
  for (const match of code.matchAll(/\bimport\(\s*"([^"\n]+)"\s*\)/g)) add(match[1] ?? "", false);
  // A module beside this one that runs as a process of its own, named without its ending: .ts here, .js once built.
  for (const match of code.matchAll(/\bnew URL\(\s*"([\w-]+)",\s*import\.meta\.url\s*\)/g)) {
    add(`./${match[1] ?? ""}.ts`, false);
  }
  return found;
}

function withoutComments(text: string): string {
  const stringOrComment = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  return text.replaceAll(stringOrComment, (_, string: string | undefined) => string ?? "");
}

function layerOf(file: string): string | undefined {
  if (file === "src/version.ts") return "base";
  return /^src\/([^/]+)\//.exec(file)?.[1];
}

function isPure(file: string): boolean {
  return PURE_FOLDERS.some((folder) => file.startsWith(`src/${folder}/`));
}

/** A test, or what only the tests of a folder use; neither is built. */
function isTest(file: SourceFile): boolean {
  return isTestOnly(file.path);
}

function isTestOnly(file: string): boolean {
  return /\.(?:test|fixture)\.ts$/.test(file);
}
