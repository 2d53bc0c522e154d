import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Command } from "commander";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeError, ReplicationError } from "../base/error.ts";
import { channelFolder, readConfig, serverAddress, type Config } from "./config.ts";
import { addFlags } from "./flags.ts";
import { OPTIONS, type OptionName } from "./options.ts";

const ALL = [...OPTIONS.keys()];
const SERVERS = { source: "mysql://root@source/", target: "mysql://root@target/" };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "abreast-config-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

interface Given {
  flags?: Record<string, unknown>;
  environment?: Record<string, string>;
  yaml?: string;
}

function read<N extends OptionName>(names: readonly N[], { flags = {}, environment = {}, yaml }: Given): Config<N> {
  if (yaml !== undefined) writeFileSync(path.join(folder, "abreast.yaml"), yaml);
  return readConfig(names, { flags, environment, folder });
}

/** What the operator would see. */
function complaint(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ReplicationError) return describeError(error);
    throw error;
  }
  return "no error";
}

test("flags win over the environment, that over abreast.yaml, and that over defaults", () => {
  const yaml = "workers: 2\nheartbeat: 2s\npack-bytes: 2M\n";
  const environment = { ABREAST_WORKERS: "3", ABREAST_HEARTBEAT: "3s" };
  const config = read(["workers", "heartbeat", "packBytes", "transactionRetries"], {
    flags: { workers: "4" },
    environment,
    yaml,
  });
  expect(config.values).toEqual({ workers: 4, heartbeat: 3000, packBytes: 2 * 1024 * 1024, transactionRetries: 10 });
  expect(config.origin("workers")).toBe("--workers");
  expect(config.origin("heartbeat")).toBe("ABREAST_HEARTBEAT");
  expect(config.origin("packBytes")).toBe("pack-bytes in abreast.yaml, line 3");
});

test("a switch that the file turns on is turned off by its --no- flag", () => {
  expect(read(["semiSync"], { yaml: "semi-sync: on" }).values).toEqual({ semiSync: true });
  expect(read(["semiSync"], { yaml: "semi-sync: on", flags: { semiSync: false } }).values).toEqual({ semiSync: false });
});

test("every default is a value that its own option accepts", () => {
  expect(read(ALL, { flags: SERVERS }).values).toMatchObject({ channel: "default", gtid: "own", semiSync: false });
});

test("--config and ABREAST_CONFIG name another file, and one that cannot be read is an error", () => {
  writeFileSync(path.join(folder, "other.yaml"), "workers: 7");
  expect(read(["workers"], { flags: { config: "other.yaml" }, yaml: "workers: 2" }).values).toEqual({ workers: 7 });
  expect(read(["workers"], { environment: { ABREAST_CONFIG: "other.yaml" } }).values).toEqual({ workers: 7 });
  expect(complaint(() => read(["workers"], { flags: { config: "none.yaml" } }))).toMatch(
    /^CONFIG: the file [^ ]*none\.yaml cannot be read: no such file or directory\n/,
  );
});

test("an empty file or one with comments only gives nothing", () => {
  expect(read(["workers"], { yaml: "" }).values).toEqual({ workers: 4 });
  expect(read(["workers"], { yaml: "# workers: 2\n" }).values).toEqual({ workers: 4 });
});

test.each([
  [{ flags: { workers: "four" } }, '--workers is "four"', "give a whole number from 1 to 256"],
  [{ environment: { ABREAST_WORKERS: "0" } }, 'ABREAST_WORKERS is "0"', "give a whole number from 1 to 256"],
  [{ yaml: "\nworkers: 1.5" }, 'workers in abreast.yaml, line 2 is "1.5"', "give a whole number from 1 to 256"],
  [{ flags: { gtid: "theirs" } }, '--gtid is "theirs"', "use own or preserve"],
  [
    { flags: { heartbeat: "5" } },
    '--heartbeat is "5"',
    "give a time from 100ms to 1m with its unit, like 500ms, 5s or 2m",
  ],
  [{ flags: { packBytes: "2X" } }, '--pack-bytes is "2X"', "give a size from 1 to 1G, like 512K, 256M or 4G"],
  [{ environment: { ABREAST_SEMI_SYNC: "maybe" } }, 'ABREAST_SEMI_SYNC is "maybe"', "give true or false"],
  [{ flags: { channel: "a b" } }, '--channel is "a b"', "use up to 64 letters, digits, _ and -"],
  [{ yaml: "worker: 2" }, "abreast.yaml, line 1 has an unknown option worker", "did you mean workers?"],
  [{ yaml: "zzz: 2" }, "abreast.yaml, line 1 has an unknown option zzz", "see docs/options.md for all options"],
  [{ yaml: "workers:" }, "workers in abreast.yaml, line 1 has no value", "give one, or remove the line"],
  [
    { yaml: "workers: [1]" },
    "workers in abreast.yaml, line 1 has no single value",
    "write one option per line, like workers: 4",
  ],
  [
    { yaml: "- workers" },
    "abreast.yaml cannot be used: its lines begin with a dash, which makes them no options",
    "write one option per line, like workers: 4",
  ],
  [
    { yaml: "workers" },
    "abreast.yaml cannot be used: there are no options in it",
    "write one option per line, like workers: 4",
  ],
  [
    { yaml: "workers: 1\nworkers: 2" },
    "abreast.yaml, line 2, column 1 is no YAML: duplicate key",
    "write one option per line, like workers: 4",
  ],
  [
    { environment: { ABREAST_WORKRES: "2" } },
    "the environment has an unknown option ABREAST_WORKRES",
    "did you mean ABREAST_WORKERS?",
  ],
] satisfies [Given, string, string][])(
  "%j is refused with where it came from and what is right",
  (given, what, hint) => {
    expect(complaint(() => read(["workers", "gtid", "heartbeat", "packBytes", "semiSync", "channel"], given))).toBe(
      `CONFIG: ${what}\n  Try: ${hint}`,
    );
  },
);

test("a required option that nobody gave tells the three ways to give it", () => {
  expect(complaint(() => read(["source"], {}))).toBe(
    "CONFIG: source is not given\n  Try: --source URL, or ABREAST_SOURCE in the environment, or source: in abreast.yaml",
  );
});

test("the variables that point to servers of the sandbox are no unknown options", () => {
  expect(read(["workers"], { environment: { ABREAST_MYSQL_9_7: "/usr/sbin/mysqld", PATH: "/bin" } }).values).toEqual({
    workers: 4,
  });
});

test("a password comes from the URL, else the password option, else the password file", () => {
  const names = [
    "source",
    "sourcePassword",
    "sourcePasswordFile",
    "target",
    "targetPassword",
    "targetPasswordFile",
  ] as const;
  const file = path.join(folder, "password");
  writeFileSync(file, "from file\nsecond line\n");
  const passwordOf = (given: Given): string =>
    serverAddress(read(names, { ...given, flags: { ...SERVERS, ...given.flags } }), "source").password;
  const environment = { ABREAST_SOURCE_PASSWORD: "from environment" };
  const yaml = `source-password-file: ${file}\n`;
  expect(passwordOf({ flags: { source: "mysql://root:from%20url@source/" }, environment, yaml })).toBe("from url");
  expect(passwordOf({ environment, yaml })).toBe("from environment");
  expect(passwordOf({ yaml })).toBe("from file");
  expect(passwordOf({ yaml: "source-password: 0123\n" })).toBe("0123");
  expect(passwordOf({ yaml: "" })).toBe("");
  expect(passwordOf({ flags: { sourcePassword: "a flag that does not exist" } })).toBe("");
});

test("no complaint about a wrong URL, file or password option quotes a password", () => {
  const names = [
    "source",
    "sourcePassword",
    "sourcePasswordFile",
    "target",
    "targetPassword",
    "targetPasswordFile",
  ] as const;
  const tries: Given[] = [
    { flags: { source: "http://root:hunter2@source/" } },
    { flags: { source: "root:hunter2@source" } },
    { flags: { source: "mysql://root:hunter2#@source/" } },
    { flags: { source: "mysql://root:hunter2%@source/" } },
    { flags: { source: "mysql://root:hunter2@source:port/" } },
    { flags: { source: "mysql://root:hunter2@source/?tls=maybe" } },
    { yaml: "source: mysql://root:hunter2@source/: x" },
    { yaml: "source-password: [hunter2]" },
    { yaml: 'source-password: "hunter2' },
    { yaml: "source-password: hunter2: 3" },
    { yaml: "source-password: 'hunter2'\n  hunter2" },
    { yaml: "- hunter2" },
  ];
  for (const given of tries) {
    const target = { target: SERVERS.target };
    const said = complaint(() =>
      serverAddress(read(names, { ...given, flags: { ...target, ...given.flags } }), "source"),
    );
    expect(said).toMatch(/^CONFIG: .*\n {2}Try: /);
    expect(said).not.toContain("hunter2");
    rmSync(path.join(folder, "abreast.yaml"), { force: true });
  }
});

test("a channel's folder follows its name unless it is given", () => {
  expect(channelFolder(read(["channel", "folder"], { flags: { channel: "east" } }))).toBe(
    path.resolve("abreast-data/east"),
  );
  expect(channelFolder(read(["channel", "folder"], { flags: { folder: "/srv/x" } }))).toBe("/srv/x");
});

test("sizes and times are read in every unit", () => {
  const sizes: [string, number][] = [
    ["64K", 65536],
    ["8m", 8388608],
    ["1G", 1073741824],
    ["256MiB", 268435456],
    ["65536", 65536],
  ];
  for (const [text, bytes] of sizes) {
    expect(read(["transactionMemory"], { flags: { transactionMemory: text } }).values.transactionMemory).toBe(bytes);
  }
  const times: [string, number][] = [
    ["500ms", 500],
    ["5s", 5000],
    ["1m", 60000],
    ["0.5s", 500],
  ];
  for (const [text, ms] of times) {
    expect(read(["heartbeat"], { flags: { heartbeat: text } }).values.heartbeat).toBe(ms);
  }
});

test("any number of workers in range is what it says, from every place", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 256 }), (workers) => {
      expect(read(["workers"], { flags: { workers: String(workers) } }).values.workers).toBe(workers);
      expect(read(["workers"], { environment: { ABREAST_WORKERS: String(workers) } }).values.workers).toBe(workers);
    }),
  );
});

test("every option that may be a flag is one, and what it collects is what the config reads", () => {
  const command = addFlags(new Command("replicate"), ALL);
  command.parse(["--start-from", "u:1-5", "--semi-sync", "--no-json", "--config", "x.yaml"], { from: "user" });
  expect(command.opts()).toEqual({ startFrom: "u:1-5", semiSync: true, json: false, config: "x.yaml" });
  const help = command.helpInformation();
  for (const option of OPTIONS.values()) {
    expect(help.includes(`--${option.key} `), option.key).toBe(option.noFlag !== true);
  }
});
