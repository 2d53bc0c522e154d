import { describeWhere } from "../../base/error.ts";
import type { EngineStatus, StatusPosition, WorkerStatus } from "../../engine/status.ts";
import { isConnecting, isWithoutTarget } from "./line.ts";
import { renderTable, type Column } from "./table.ts";
import { formatBytes, formatCount, formatCounted, formatDuration, formatPercent } from "./units.ts";

/** `SHOW REPLICA STATUS\G` and a process list of the workers: the names and words of MySQL 8.4, so that nobody must learn new ones. */
export function renderStatus(status: EngineStatus, width: number): string {
  return [
    renderFields(fieldsOf(status), width),
    "",
    renderTable(
      WORKER_COLUMNS,
      status.workers.map((worker) => workerRow(worker, status.atMs)),
      width,
    ),
  ].join("\n");
}

type Field = [name: string, value: string];

function fieldsOf(status: EngineStatus): Field[] {
  const { source, target, receiver, relayLog, applied, coordinator } = status;
  const lag = status.lagMs === undefined ? "NULL" : (status.lagMs / 1000).toFixed(1);
  return [
    ["Channel_Name", status.channel],
    ["Engine", engineText(status)],
    ["Replica_IO_State", receiver.state],
    ["Replica_IO_Running", receiverRuns(status)],
    ["Replica_SQL_Running", applierRuns(status)],
    ["Source", `${source.address} (${source.serverVersion}, server id ${source.serverId})`],
    ["Source_UUID", source.serverUuid],
    ["Target", `${target.address} (${target.serverVersion})`],
    ["Source_Log_File", receiver.position?.file ?? ""],
    ["Read_Source_Log_Pos", positionText(receiver.position)],
    ["Relay_Source_Log_File", applied.position?.file ?? ""],
    ["Exec_Source_Log_Pos", positionText(applied.position)],
    ["Relay_Log_Space", `${formatBytes(relayLog.bytes)} in ${formatCounted(relayLog.files, "file")}`],
    ["Backlog", `${formatBytes(status.backlogBytes)}, ${queueText(coordinator)}`],
    ["Seconds_Behind_Source", lag],
    ["Replica_SQL_Running_State", coordinator.state],
    ["Retrieved_Gtid_Set", receiver.position?.gtids ?? ""],
    ["Executed_Gtid_Set", applied.position?.gtids ?? ""],
    ["Received", `${formatCounted(receiver.transactions, "transaction")}, ${formatBytes(receiver.bytes)}`],
    ["Applied", `${formatCounted(applied.transactions, "transaction")}, ${formatCounted(applied.rows, "row")}`],
    ["Commits", `${formatCount(applied.runs)}, ${formatCounted(applied.retries, "retry", "retries")}`],
    ...unusualOf(status),
    ["Policy", `${status.policy}, commit order ${status.commitOrder}, gtid ${status.gtidMode}`],
    ["Semi_Sync", receiver.semiSync ? "ON" : "OFF"],
    ...errorsOf(status),
  ];
}

/** A paused engine still receives. */
function receiverRuns(status: EngineStatus): string {
  if (status.state !== "running" && status.state !== "paused") return "No";
  return isConnecting(status) ? "Connecting" : "Yes";
}

function applierRuns(status: EngineStatus): string {
  if (status.state !== "running" && status.state !== "stopping") return "No";
  return isWithoutTarget(status) ? "Connecting" : "Yes";
}

/** Counters that say nothing while they are zero. */
function unusualOf({ receiver, applied }: EngineStatus): Field[] {
  const fields: Field[] = [];
  if (receiver.reconnects > 0) fields.push(["Reconnects", formatCount(receiver.reconnects)]);
  if (applied.skipped > 0)
    fields.push(["Skipped", `${formatCounted(applied.skipped, "transaction")} found applied already`]);
  if (applied.ignoredEvents > 0) fields.push(["Ignored_Events", formatCount(applied.ignoredEvents)]);
  return fields;
}

function errorsOf({ receiver, applied, error }: EngineStatus): Field[] {
  const fields: Field[] = [
    ["Last_IO_Error", receiver.lastError ?? ""],
    ["Last_SQL_Error", applied.lastError ?? ""],
  ];
  if (error === undefined) return [...fields, ["Last_Error", ""]];
  const where = describeWhere(error.where);
  fields.push(["Last_Error", `${error.code}: ${error.message}${where === "" ? "" : ` at ${where}`}`]);
  if (error.hint !== undefined) fields.push(["Try", error.hint]);
  return fields;
}

/** Of one that has ended: when. */
function engineText({ state, pid, version, startedAtMs, atMs }: EngineStatus): string {
  const duration = formatDuration(atMs - startedAtMs);
  if (state !== "stopped" && state !== "failed") return `${state}, pid ${pid}, version ${version}, up ${duration}`;
  return `${state} at ${new Date(atMs).toISOString()} after ${duration}, pid ${pid}, version ${version}`;
}

/** As digits only: it is copied into other commands. */
function positionText(position: StatusPosition | undefined): string {
  return position === undefined || position.file === "" ? "" : String(position.position);
}

function queueText({ queuedTransactions, queuedBytes }: EngineStatus["coordinator"]): string {
  return `${formatCounted(queuedTransactions, "transaction")} (${formatBytes(queuedBytes)}) in memory`;
}

/** Names right-aligned, as `\G` has them; long values go on below themselves. */
function renderFields(fields: readonly Field[], width: number): string {
  const nameWidth = Math.max(...fields.map(([name]) => name.length));
  const indent = nameWidth + 2;
  return fields
    .map(([name, value]) => {
      const lines = wrap(value, Math.max(width - indent, 20));
      return `${name.padStart(nameWidth)}: ${lines.join(`\n${" ".repeat(indent)}`)}`.trimEnd();
    })
    .join("\n");
}

/** Breaks behind commas and spaces where it can: a GTID set stays readable, and whole when its lines are joined. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const piece of text.match(/[^, ]*[, ]+|[^, ]+$/g) ?? [""]) {
    if (line !== "" && line.length + piece.trimEnd().length > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += piece;
  }
  return [...lines, line.trimEnd()];
}

const WORKER_COLUMNS: readonly Column[] = [
  { title: "Worker", align: "right" },
  { title: "Time", align: "right", isExpendable: true },
  { title: "Gtid", align: "left", widthMin: 10, cutAt: "start" },
  { title: "State", align: "left", widthMin: 15, cutAt: "end", isCutLast: true },
  { title: "Run", align: "right", isExpendable: true },
  { title: "Rows", align: "right" },
  { title: "Committed", align: "right", isExpendable: true },
  { title: "Retries", align: "right", isExpendable: true },
];

function workerRow(worker: WorkerStatus, atMs: number): string[] {
  const { rowsDone, rowsTotal, transactionsInRun } = worker;
  return [
    String(worker.worker),
    formatDuration(atMs - worker.sinceMs),
    worker.gtid ?? "",
    worker.state,
    transactionsInRun === 0 ? "" : formatCount(transactionsInRun),
    rowsTotal === 0 ? "" : `${formatCount(rowsDone)}/${formatCount(rowsTotal)} (${formatPercent(rowsDone, rowsTotal)})`,
    formatCount(worker.committedTransactions),
    formatCount(worker.retries),
  ];
}
