import { describeError } from "../../base/error.ts";
import { Engine } from "../../engine/engine.ts";
import type { EngineMessage, EngineOrder, EngineTask } from "./abreast.ts";

/** The other end of abreast.ts: gets one task, runs the engine until it is done or told to stop, answers what it took. */

/** Where nobody has said how far to go, somebody looks on. */
const STATUS_MS = 100;

function tell(message: EngineMessage): void {
  process.send?.(message);
}

async function run(task: EngineTask): Promise<void> {
  const log = (message: string, fields?: Record<string, unknown>): void =>
    tell({ type: "log", text: fields === undefined ? message : `${message} ${JSON.stringify(fields)}` });
  const startMs = performance.now();
  const before = process.cpuUsage();
  const engine = await Engine.start({ ...task, log: { info: () => {}, warn: log } });
  process.on("message", (order: EngineOrder) => {
    if (order.type === "stop") void engine.stop();
  });
  const telling =
    task.until === undefined
      ? setInterval(() => tell({ type: "lag", lagMs: engine.status().lagMs ?? null }), STATUS_MS)
      : undefined;
  await engine.done.finally(() => clearInterval(telling));
  const seconds = (performance.now() - startMs) / 1000;
  const { error, policy, applied, workers } = engine.status();
  if (error !== undefined) throw new Error(`${error.code}: ${error.message}`);
  const usage = process.cpuUsage(before);
  tell({
    type: "done",
    result: {
      seconds,
      engineCpuSeconds: (usage.user + usage.system) / 1e6,
      rssBytesMax: process.resourceUsage().maxRSS * 1024,
      status: { policy, applied, workers },
    },
  });
}

process.once("disconnect", () => process.exit(0));
process.once("message", (order: EngineOrder) => {
  if (order.type !== "start") return;
  run(order.task)
    .catch((error: unknown) => tell({ type: "failed", error: describeError(error) }))
    .finally(() => process.disconnect());
});
