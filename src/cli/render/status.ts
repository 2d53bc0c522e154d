import { describeWhere } from "../../base/error.ts";
import type { EngineStatus, StatusPosition } from "../../engine/status.ts";
import { isConnecting, isWithoutTarget } from "./line.ts";
import { renderThreads } from "./threads.ts";
import { formatBytes, formatCount, formatCounted, formatDuration } from "./units.ts";
import { conflictsText } from "./summary.ts";
import { renderWorkerTimes } from "./worker-times.ts";

/** How many workers are shown one by one, unless all are asked for. */
export const WORKERS_SHOWN = 16;

/**
 * `SHOW REPLICA STATUS\G`, a process list, and what the workers' time went into: the names and words of MySQL 8.4, so that nobody must learn new ones. Of more
 * than `workersMax` workers the busiest are shown.
 */
export function renderStatus(status: EngineStatus, width: number, workersMax = WORKERS_SHOWN): string {
  const parts = [renderFields(fieldsOf(status), width), renderThreads(status, width, workersMax)];
  if (status.workers.length > 0) parts.push(renderWorkerTimes(status.workers, width, workersMax));
  return parts.join("\n\n");
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
    ["Commits", commitsText(applied)],
    ["Apply_Latency", applied.latencyMs === undefined ? "" : `${applied.latencyMs} ms from the queue to the commit`],
    ...unusualOf(status),
    ["Policy", `${status.policy}, dependency ${status.dependency}, commit order ${status.commitOrder}`],
    ["Policy_Reason", status.policyReason.replace(/^Policy \S+: /, "")],
    ["Gtid_Mode", status.gtidMode],
    ["Workers", workersText(status)],
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
  const conflicts = conflictsText(applied);
  if (conflicts !== "") fields.push(["Conflicts", conflicts]);
  if (applied.passedOver > 0)
    fields.push(["Passed_Over", `${formatCounted(applied.passedOver, "transaction")} named by --skip`]);
  if (applied.ignoredEvents > 0) fields.push(["Ignored_Events", formatCount(applied.ignoredEvents)]);
  return fields;
}

function commitsText({ runs, retries, lockBreaks }: EngineStatus["applied"]): string {
  const breaks = lockBreaks === 0 ? "" : `, ${formatCounted(lockBreaks, "lock break")}`;
  return `${formatCount(runs)}, ${formatCounted(retries, "retry", "retries")}${breaks}`;
}

/** How many there are, and how many ran at a time while at least one did. */
export function workersText({ wantedWorkers, workers, applied }: EngineStatus): string {
  const leaving = workers.filter(({ worker }) => worker >= wantedWorkers).length;
  return [
    `${formatCount(wantedWorkers)} wanted`,
    ...(leaving === 0 ? [] : [`${formatCount(leaving)} finishing what they have`]),
    `${applied.meanConcurrency.toFixed(1)} at work at a time on average`,
  ].join(", ");
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
