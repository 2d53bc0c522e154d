import type { SandboxServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";

/** What the target waited for its disk: flushes of binlog and redo log, and the seconds spent in them. */
export interface Flushes {
  binlog: number;
  binlogSeconds: number;
  redo: number;
  redoSeconds: number;
}

const BINLOG = "wait/io/file/sql/binlog";
const REDO = "wait/io/file/innodb/innodb_log_file";
const PICOSECONDS = 1e12;

/** By performance_schema; all 0 where a server has it switched off, as MariaDB by default. */
export async function watchFlushes(target: SandboxServer): Promise<() => Promise<Flushes>> {
  const before = await readFlushes(target);
  return async () => {
    const after = await readFlushes(target);
    return {
      binlog: after.binlog - before.binlog,
      binlogSeconds: after.binlogSeconds - before.binlogSeconds,
      redo: after.redo - before.redo,
      redoSeconds: after.redoSeconds - before.redoSeconds,
    };
  };
}

/** COUNT_MISC has flushes, and the rare opening and closing of a file. */
async function readFlushes(target: SandboxServer): Promise<Flushes> {
  const session = await Session.connect(target.address);
  try {
    const rows = await session.query(
      "SELECT EVENT_NAME AS name, COUNT_MISC AS count, SUM_TIMER_MISC AS time " +
        `FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME IN ('${BINLOG}','${REDO}')`,
    );
    const of = (name: string): { count: number; seconds: number } => {
      const row = rows.find((each) => each["name"] === name);
      return { count: Number(row?.["count"] ?? 0), seconds: Number(row?.["time"] ?? 0) / PICOSECONDS };
    };
    const [binlog, redo] = [of(BINLOG), of(REDO)];
    return { binlog: binlog.count, binlogSeconds: binlog.seconds, redo: redo.count, redoSeconds: redo.seconds };
  } finally {
    await session.close();
  }
}
