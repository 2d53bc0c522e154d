import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { brokenRules, LAYERS, PURE_FOLDERS, type SourceFile } from "./helpers/tidy.ts";

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

function filesBelow(folder: string): SourceFile[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({
      path: path.relative(ROOT, file).replaceAll(path.sep, "/"),
      text: readFileSync(file, "utf8"),
    }));
}

test("this project keeps the rules of its house", () => {
  expect(brokenRules([...filesBelow("src"), ...filesBelow("test")])).toEqual([]);
});

test("the table of layers points one way, and every pure folder is in it", () => {
  const reaches = (from: string, goal: string): boolean =>
    (LAYERS[from] ?? []).some((next) => next === goal || reaches(next, goal));
  for (const folder of Object.keys(LAYERS)) expect(reaches(folder, folder), folder).toBe(false);
  for (const folder of PURE_FOLDERS) expect(LAYERS[folder.split("/")[0] ?? ""]).toBeDefined();
});

describe("each rule is broken by its bad sample, and by nothing else in it", () => {
  const main = (text: string): SourceFile => ({ path: "src/cli/main.ts", text });
  const one = (file: string, text: string): SourceFile[] => [main(`import "../../${file}";`), { path: file, text }];

  test.each<[string, SourceFile[], string[]]>([
    [
      "an import upwards",
      [
        main('import "../gtid/set.ts"; import "../engine/engine.ts";'),
        { path: "src/gtid/set.ts", text: 'import type { Engine } from "../engine/engine.ts";' },
        { path: "src/engine/engine.ts", text: 'import { a } from "./other.ts";\nexport * from "../http/client.ts";' },
        { path: "src/engine/other.ts", text: "" },
        { path: "src/http/client.ts", text: "" },
      ],
      [
        "src/gtid/set.ts: gtid may not import src/engine/engine.ts",
        "src/engine/engine.ts: engine may not import src/http/client.ts",
      ],
    ],
    [
      "an import over several lines, and one of a test's",
      [
        main('import "../base/a.ts"; import "../wire/b.ts";'),
        { path: "src/base/a.ts", text: 'import {\n  type B,\n  b,\n} from "../wire/b.ts";' },
        { path: "src/wire/b.ts", text: 'import { c } from "../../test/helpers/c.ts"; import "./d.fixture.ts";' },
        { path: "src/wire/d.fixture.ts", text: "" },
      ],
      [
        "src/base/a.ts: base may not import src/wire/b.ts",
        "src/wire/b.ts: wire may not import test/helpers/c.ts",
        "src/wire/b.ts: wire may not import src/wire/d.fixture.ts",
      ],
    ],
    [
      "a folder that nobody thought about",
      one("src/misc/a.ts", ""),
      [
        "src/cli/main.ts: cli may not import src/misc/a.ts",
        "src/misc/a.ts: the folder misc is not in the table of layers",
      ],
    ],
    ...[
      ["Date.now", "const at = Date.now();"],
      ["new Date()", "const at = new Date();"],
      ["setTimeout", "setTimeout(() => {}, 1);"],
      ["Math.random", "const n = Math.random();"],
      ["process", "const pid = process.pid;"],
      ["performance", "const at = performance.now();"],
    ].map(([found = "", text = ""]): [string, SourceFile[], string[]] => [
      `${found} in a pure folder`,
      one("src/schedule/a.ts", text),
      [
        `src/schedule/a.ts: is pure, but has ${found}`,
        ...(found === "new Date()" ? ["src/schedule/a.ts: is pure, but has Date()"] : []),
      ],
    ]),
    [
      "input and output in a pure folder",
      one("src/binlog/a.ts", 'import { readFileSync } from "node:fs";\nimport { crc32 } from "node:zlib";'),
      ["src/binlog/a.ts: is pure, but imports node:fs"],
    ],
    [
      "something impure that a pure folder runs, not only names",
      [
        main('import "./render/line.ts"; import "../engine/status.ts";'),
        {
          path: "src/cli/render/line.ts",
          text: 'import type { EngineStatus } from "../../engine/status.ts";\nimport { Screen } from "../screen.ts";',
        },
        { path: "src/engine/status.ts", text: "" },
        { path: "src/cli/screen.ts", text: "" },
      ],
      ["src/cli/render/line.ts: is pure, but imports ../screen.ts"],
    ],
    [
      "a file that only a test imports, and one that nobody does",
      [
        main(""),
        { path: "src/base/lonely.ts", text: "" },
        { path: "src/base/tested.ts", text: "" },
        { path: "src/base/tested.test.ts", text: 'import "./tested.ts"; import "./rows.fixture.ts";' },
        { path: "src/base/rows.fixture.ts", text: "" },
      ],
      [
        "src/base/lonely.ts: cannot be reached from the command line",
        "src/base/tested.ts: cannot be reached from the command line",
      ],
    ],
    [
      "an exception that is not needed any more",
      one("src/binlog/decode.ts", ""),
      ["src/binlog/decode.ts: is reached by now, and needs no exception"],
    ],
    [
      "a file with two jobs",
      one("src/base/long.ts", "// a line\n".repeat(451)),
      ["src/base/long.ts: has 451 lines, more than 450: it has two jobs"],
    ],
    [
      "a test whose name hides that it needs a server, by itself or through a helper",
      [
        main(""),
        { path: "src/cli/a.test.ts", text: 'import { startServer } from "../sandbox/start.ts";' },
        { path: "src/cli/b.test.ts", text: 'import { pair } from "../../test/helpers/pair.ts";' },
        { path: "src/cli/c.mysql.test.ts", text: 'import { startServer } from "../sandbox/start.ts";' },
        { path: "src/cli/d.test.ts", text: 'import type { Server } from "../sandbox/start.ts";' },
        { path: "test/helpers/pair.ts", text: 'import { startServer } from "../../src/sandbox/start.ts";' },
      ],
      [
        "src/cli/a.test.ts: needs a server, and its name does not say which",
        "src/cli/b.test.ts: needs a server, and its name does not say which",
      ],
    ],
    ["output past the log", one("src/wire/a.ts", 'console.log("hello");'), ["src/wire/a.ts: writes to the console"]],
  ])("%s", (_, files, broken) => {
    expect(brokenRules(files)).toEqual(broken);
  });

  test("comments and strings break nothing, and a module that runs by itself is alive", () => {
    const files = [
      main(
        'import "../schedule/a.ts"; const child = new URL("child", import.meta.url); await import("../base/late.ts");',
      ),
      { path: "src/cli/child.ts", text: "" },
      { path: "src/base/late.ts", text: "" },
      {
        path: "src/schedule/a.ts",
        text: '// Date.now() would be wrong here\n/* import "../engine/x.ts" */\nconst url = "mysql://process.pid";',
      },
    ];
    expect(brokenRules(files)).toEqual([]);
  });
});
