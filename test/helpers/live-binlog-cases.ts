import { setTimeout as sleep } from "node:timers/promises";
import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { liveBinlog, type LiveBinlog } from "../../src/cli/live-binlog.ts";
import { followCounts } from "../../src/cli/follow.ts";
import { type Fault, findInputs } from "../../src/inspect/input/input.ts";
import { parseBound } from "../../src/inspect/input/range.ts";
import { transactionsOf } from "../../src/inspect/input/transactions.ts";
import { printRows } from "../../src/inspect/rows/print-rows.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { describeId } from "../../src/transaction/transaction.ts";
import { binlogFiles } from "./assemble.ts";
import { runAll } from "./replay.ts";
import { printed, tablesOf } from "./row-statements.ts";
import { useServer } from "./servers.ts";

/** What a live server sends is what lies in its files. */
export function describeLiveBinlog(flavour: ServerFlavour): void {
  describe(flavour, () => {
    const server = useServer(flavour);

    /** A user that may do nothing but replicate. */
    const live = (from: string | undefined, signal?: AbortSignal): LiveBinlog =>
      liveBinlog({
        source: { ...server().address, user: "reader", password: "r" },
        from: from === undefined ? undefined : parseBound(from),
        follow: signal !== undefined,
        signal: signal ?? new AbortController().signal,
      });

    test("its text is that of all of its files, and of the part from a position on", async () => {
      await runAll(server(), [
        "CREATE USER reader@'%' IDENTIFIED BY 'r'",
        "GRANT REPLICATION SLAVE ON *.* TO reader@'%'",
        "CREATE DATABASE w",
        "CREATE TABLE w.t(id INT PRIMARY KEY, v MEDIUMTEXT)",
        "INSERT INTO w.t VALUES(1,'a'),(2,REPEAT('long ',50000))",
        "FLUSH BINARY LOGS",
        "UPDATE w.t SET v='c' WHERE id=1",
        "FLUSH BINARY LOGS",
        "DELETE FROM w.t WHERE id=1",
      ]);
      const tables = await tablesOf(server());
      const files = await binlogFiles(server());
      const fromFiles = (await printed("rows", files, { tables })).sql;
      const input = live(undefined);
      expect(await textOf(input, tables)).toBe(fromFiles);
      expect(input.failure).toBeUndefined();
      const second = await printed("rows", files.slice(1), { tables });
      expect(await textOf(live(`${basename(files[1] ?? "")}:4`), tables)).toBe(second.sql);
      expect(fromFiles).toContain("DELETE FROM `w`.`t` WHERE `id`=1 LIMIT 1;");
    });

    test("its transactions have the names and places that they have in its files", async () => {
      const places = async (inputs: Parameters<typeof transactionsOf>[0]): Promise<string[]> => {
        const found: string[] = [];
        const onFault = ({ reason }: Fault): void => void found.push(reason);
        for await (const { id, start, end } of transactionsOf(inputs, { onFault })) {
          found.push(`${describeId(id)} ${start.file}:${start.position}-${end.position}`);
        }
        return found;
      };
      const expected = await places(await findInputs(await binlogFiles(server())));
      expect(expected.length).toBeGreaterThan(5);
      expect(await places([live(undefined)])).toEqual(expected);
    });

    test("followed, it gives what comes until it is told to end", async () => {
      const stop = new AbortController();
      const faults: Fault[] = [];
      const counts = followCounts([live(undefined, stop.signal)], { onFault: (fault) => faults.push(fault) });
      await until(() => counts.take().transactions > 0);
      await runAll(server(), ["INSERT INTO w.t VALUES(10,'x'),(11,'y'),(12,'z')"]);
      let rows = 0;
      await until(() => {
        const taken = counts.take();
        rows += taken.topTable?.name === "w.t" ? taken.topTable.rows : 0;
        return rows >= 3;
      });
      stop.abort();
      await counts.done;
      expect(faults).toEqual([]);
    });

    test("a wrong password is a failure and no fault of a file", async () => {
      const input = liveBinlog({
        source: { ...server().address, user: "reader", password: "wrong" },
        from: undefined,
        follow: false,
        signal: new AbortController().signal,
      });
      await textOf(input, []);
      expect(input.failure?.code).toBe("ACCESS_DENIED");
    });

    test("a position must say in which file it is", () => {
      expect(() => live("1234")).toThrow(expect.objectContaining({ code: "CONFIG" }));
    });
  });
}

async function textOf(input: LiveBinlog, tables: Awaited<ReturnType<typeof tablesOf>>): Promise<string> {
  const pieces: Buffer[] = [];
  await printRows([input], { tables, onFault: () => {} }, (bytes) => void pieces.push(Buffer.from(bytes)));
  return Buffer.concat(pieces).toString("latin1");
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(10);
}
