import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import type { RowDataPacket } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReplicationError } from "../src/base/error.ts";
import { TemporaryFolder } from "../src/bench/temporary-folder.ts";
import { findInputs } from "../src/inspect/input/input.ts";
import { inspect } from "../src/inspect/inspect.ts";
import type { InspectReport } from "../src/inspect/report.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { logEverything } from "./helpers/inspect-load.ts";
import { query, useServer } from "./helpers/servers.ts";
import { zstdOfRawBlocks } from "./helpers/zstd.ts";

const read = async (...paths: string[]): Promise<InspectReport> => inspect(await findInputs(paths));

/** File, offset and reason of each fault, on a line. */
const faultsOf = ({ faults }: InspectReport): string[] =>
  faults.map(({ file, offset, reason }) => `${file} ${offset}: ${reason}`);

const refusal = (...paths: string[]): Promise<string> =>
  read(...paths).then(
    () => "none",
    (error: unknown) => (error instanceof ReplicationError ? `${error.code}: ${error.message}` : "an error of ours"),
  );

describe("inspect given files of mysql-9.7", () => {
  const server = useServer("mysql-9.7", { options: ["--sync-binlog=0"] });
  const folder = new TemporaryFolder("inspect-files");
  let files: string[];
  let whole: InspectReport;
  /** The third of them, small transactions only. */
  let bytes: Buffer;

  beforeAll(async () => {
    files = await logEverything(server(), { bytes: 200_000 });
    bytes = readFileSync(files[2] as string);
    whole = await read(files[2] as string);
  });
  afterAll(() => folder.remove());

  function place(name: string, content: Buffer | string): string {
    const file = path.join(folder.path, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  it("of other kinds tells what they are, and reads on", async () => {
    const others = [
      place("kinds/empty.000001", ""),
      place("kinds/encrypted.000002", Buffer.concat([Buffer.from("\u00fdbin", "latin1"), Buffer.alloc(600, 7)])),
      place("kinds/index.000003", "./binlog.000001\n./binlog.000002\n"),
      place("kinds/text.000004", "CREATE TABLE t (id INT);\n".repeat(1000)),
      "/dev/null",
      place("kinds/good.000005", bytes),
    ];
    const report = await read(...others);
    expect(faultsOf(report)).toEqual([
      "empty.000001 0: the file ends before its first event",
      "encrypted.000002 0: the file is encrypted from here on",
      "index.000003 0: this is no binlog file: it does not begin with the four bytes of one",
      "text.000004 0: this is no binlog file: it does not begin with the four bytes of one",
      "null 0: the file ends before its first event",
    ]);
    expect(report.transactions).toBe(whole.transactions);
  });

  it("in a folder, or named by an index, reads them in the order of the log", async () => {
    for (const file of files.toReversed()) place(`folder/${path.basename(file)}`, readFileSync(file));
    const names = files.map((file) => path.basename(file));
    const index = place("folder/binlog.index", `${names.map((name) => `/elsewhere/${name}`).join("\n")}\n`);
    const byFolder = await read(path.join(folder.path, "folder"));
    expect(byFolder.files.map(({ name }) => name)).toEqual(names);
    expect(await read(index)).toEqual(byFolder);
    expect(await read(...files)).toEqual(byFolder);
    expect(faultsOf(byFolder)).toEqual([]);
    place("folder/binlog.index", `${names[0]}\n./gone.000009\n`);
    const broken = await read(index);
    expect(faultsOf(broken)).toEqual(["gone.000009 0: it cannot be opened: no such file or directory"]);
    expect(broken.transactions).toBeGreaterThan(0);
  });

  it("that are not there, or nothing to read, is refused with the reason", async () => {
    expect(await refusal(path.join(folder.path, "gone"))).toContain("no such file or directory");
    mkdirSync(path.join(folder.path, "bare"));
    expect(await refusal(path.join(folder.path, "bare"))).toContain("has no binlog files");
    expect(await refusal(place("bare/binlog.index", ""))).toContain("names no files");
    mkdirSync(path.join(folder.path, "locked"));
    chmodSync(path.join(folder.path, "locked"), 0);
    // Nothing is locked to root, who finds the folder bare.
    const why = process.getuid?.() === 0 ? "has no binlog files" : "cannot be read: permission denied";
    expect(await refusal(path.join(folder.path, "locked"))).toContain(why);
  });

  it.each(["gz", "zst"])("packed as .%s gives the same report, and cut what is before the cut", async (ending) => {
    const pack = (content: Buffer): Buffer => (ending === "gz" ? gzipSync(content) : zstdOfRawBlocks(content, 100_000));
    const name = path.basename(files[2] as string);
    const packed = await read(place(`packed/${name}.${ending}`, pack(bytes)));
    const comparable = (report: InspectReport): unknown => ({
      ...report,
      files: report.files.map((file) => ({ ...file, fileBytes: null })),
    });
    expect(comparable(packed)).toEqual(comparable(whole));
    const half = pack(bytes);
    const cut = await read(place(`cut/${name}.${ending}`, half.subarray(0, half.length / 2)));
    expect(faultsOf(cut)).toEqual([expect.stringMatching(/is cut or broken/)]);
    expect(cut.transactions).toBeGreaterThan(whole.transactions / 10);
    expect(cut.transactions).toBeLessThan(whole.transactions);
    for (const length of [3, 5, 10, 18]) {
      const stub = await read(place(`stub/${name}.${ending}`, half.subarray(0, length)));
      expect(stub.faults.length, `${length} bytes`).toBe(1);
    }
  });

  it("that the server still writes to reads what is there", async () => {
    await query(server(), "CREATE TABLE shop.growing (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200))");
    const [status] = await query<RowDataPacket[]>(server(), "SHOW BINARY LOG STATUS");
    const file = path.join(server().dataFolder, String(status?.["File"]));
    const written = new AbortController();
    const writer = (async () => {
      while (!written.signal.aborted) {
        await query(server(), "INSERT INTO shop.growing (v) VALUES (REPEAT('g', 200))");
      }
    })();
    let before = 0;
    for (let round = 0; round < 15; round++) {
      const report = await read(file);
      expect(report.transactions).toBeGreaterThanOrEqual(before);
      before = report.transactions;
      // The server may be in the middle of an event or a transaction, at the end only.
      expect(report.faults.length).toBeLessThanOrEqual(1);
      for (const { offset } of report.faults) expect(offset).toBeGreaterThan(statSync(file).size / 2);
    }
    written.abort();
    await writer;
    const [count] = await query<RowDataPacket[]>(server(), "SELECT COUNT(*) AS n FROM shop.growing");
    const { rows, faults } = await read(file);
    expect({ inserted: rows.inserted, faults }).toEqual({ inserted: count?.["n"], faults: [] });
  });

  it("that a live server does not have is told without a report, and without advice for replicas", async () => {
    for (const how of [[], ["--json"], ["--rows"]]) {
      const cli = new CliProcess(["inspect", "--source", server().url, "--from", "binlog.999999:4", ...how]);
      // --rows says in its text that it is incomplete.
      expect([await cli.ended, cli.output.replaceAll(/^--.*\n/gm, "")], how.join(" ")).toEqual([3, ""]);
      expect(cli.errors).toContain("POSITION_NOT_FOUND");
      expect(cli.errors).toContain("Try: look at SHOW BINARY LOGS");
      expect(cli.errors).not.toContain("--init");
    }
  });

  it("answers with exit codes, and messages without a stack", async () => {
    const cut = place("exit/binlog.000001", bytes.subarray(0, bytes.length - 100));
    const run = async (...args: string[]): Promise<CliProcess> => {
      const cli = new CliProcess(["inspect", ...args]);
      await cli.ended;
      return cli;
    };
    // Builds what is not built, so that no later command says that it does.
    expect(await new CliProcess(["--version"]).ended).toBe(0);
    const good = await run(files[2] as string, "--json");
    expect([await good.ended, good.errors]).toEqual([0, ""]);
    expect((JSON.parse(good.output) as InspectReport).transactions).toBe(whole.transactions);
    const damaged = await run(cut);
    expect(await damaged.ended).toBe(1);
    expect(damaged.output).toContain("the file ends inside an event");
    const wrong = await run(path.join(folder.path, "gone"));
    expect(await wrong.ended).toBe(2);
    for (const { output, errors } of [damaged, wrong]) expect(output + errors).not.toMatch(/^\s+at /m);
  });
});
