import { describeError } from "../../base/error.ts";
import { Engine } from "../../engine/engine.ts";
import type { EngineMessage, EngineTask } from "./abreast.ts";

/** The other end of abreast.ts: gets one task, runs the engine until it is done, answers what it took. */

function tell(message: EngineMessage): void {
  process.send?.(message);
}

async function run(task: EngineTask): Promise<void> {
  const log = (message: string, fields?: Record<string, unknown>): void =>
    tell({ type: "log", text: fields === undefined ? message : `${message} ${JSON.stringify(fields)}` });
  const startMs = performance.now();
  const before = process.cpuUsage();
  const engine = await Engine.start({ ...task, log: { info: () => {}, warn: log } });
  await engine.done;
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
process.once("message", (task: EngineTask) => {
  run(task)
    .catch((error: unknown) => tell({ type: "failed", error: describeError(error) }))
    .finally(() => process.disconnect());
});
