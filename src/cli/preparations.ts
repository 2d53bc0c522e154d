import { ReplicationError } from "../base/error.ts";
import type { EngineOptions } from "../engine/options.ts";
import { initialCopy } from "./initial-copy.ts";
import type { Options } from "./options.ts";
import { renderCopyLine } from "./render/copy.ts";
import type { Preparation } from "./replication.ts";

/** What `replicate` does before there is an engine, and how far it is with it. */
export class Preparations {
  readonly list: readonly Preparation[];
  readonly #options: EngineOptions;
  #activity: ((width: number) => string) | undefined;

  constructor(options: EngineOptions, { init }: Pick<Options, "init" | "skipPreflight">) {
    this.#options = options;
    this.list = [{ state: "copying", run: (signal) => this.#copy(init, signal) }];
  }

  /** A line of at most `width` columns; undefined when nothing is being prepared, or it is over before one could read it. */
  activity(width: number): string | undefined {
    return this.#activity?.(width);
  }

  async #copy(init: Options["init"], signal: AbortSignal): Promise<Partial<EngineOptions>> {
    const { source, target, channel, gtid, log } = this.#options;
    if (gtid === "preserve") {
      if (init === false) return {};
      throw new ReplicationError("CONFIG", "--init cannot bring the source's GTIDs, which --gtid preserve needs", {
        hint: "use --gtid own; or load the target with a dump that sets gtid_purged, and leave --init out",
      });
    }
    try {
      const onProgress = (progress: Parameters<typeof renderCopyLine>[0]): void => {
        this.#activity = (width) => renderCopyLine(progress, width);
      };
      return (await initialCopy({ source, target, channel, mode: init, log, onProgress }, signal)) ?? {};
    } finally {
      this.#activity = undefined;
    }
  }
}
