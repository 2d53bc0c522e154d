import type { PausePosition } from "../engine/status.ts";
import type { ControlClient } from "./client.ts";

/**
 * What a comparison under load needs of a running engine: `hold` stops applying where it is, `pauseAt` goes on to exactly a position, `resume` lets go.
 *
 * Invariant: every pause made here hangs on a connection of this process. Should the comparison be killed, the engine resumes by itself; an engine that
 * stayed paused because of a comparison would be an outage.
 */
export class EngineGate {
  readonly #client: ControlClient;
  readonly #holds: { release(): void }[] = [];

  constructor(client: ControlClient) {
    this.#client = client;
  }

  async hold(): Promise<void> {
    this.#holds.push(await this.#client.hold());
  }

  async pauseAt({ file, position, gtids }: PausePosition): Promise<void> {
    this.#holds.push(await this.#client.hold({ file, position, gtids }));
  }

  async resume(): Promise<void> {
    try {
      if (this.#holds.length > 0) await this.#client.resume();
    } finally {
      for (const hold of this.#holds.splice(0)) hold.release();
    }
  }
}
