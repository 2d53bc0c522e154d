import type { EngineStatus } from "../../engine/status.ts";
import { renderThreads } from "./threads.ts";
import { workersText } from "./status.ts";

/** How many workers there are, and what each does. */
export function renderWorkers(status: EngineStatus, width: number): string {
  return `${workersText(status)}\n${renderThreads(status, width, Number.POSITIVE_INFINITY)}`;
}
