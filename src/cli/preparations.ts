import { ReplicationError } from "../base/error.ts";
import type { EngineOptions } from "../engine/options.ts";
import { preflight } from "../preflight/preflight.ts";
import type { Check, PreflightOptions } from "../preflight/report.ts";
import { initialCopy } from "./initial-copy.ts";
import type { Options } from "./options.ts";
import { renderCopyLine } from "./render/copy.ts";
import { cut, formatCounted } from "./render/units.ts";
import type { Preparation } from "./replication.ts";

/** What `replicate` does before there is an engine, and how far it is with it. */
export class Preparations {
  readonly list: readonly Preparation[];
  readonly #options: EngineOptions;
  #activity: ((width: number) => string) | undefined;

  constructor(options: EngineOptions, { init, skipPreflight }: Pick<Options, "init" | "skipPreflight">) {
    this.#options = options;
    const check: Preparation = { state: "starting", run: () => this.#check(init) };
    const copy: Preparation & { state: "starting" | "copying" } = {
      state: "starting",
      run: (signal) => this.#copy(init, signal, () => (copy.state = "copying")),
    };
    this.list = skipPreflight ? [copy] : [check, copy];
  }

  /** A line of at most `width` columns; undefined when nothing is being prepared, or it is over before one could read it. */
  activity(width: number): string | undefined {
    return this.#activity?.(width);
  }

  async #check(init: Options["init"]): Promise<Partial<EngineOptions>> {
    const { source, target, serverId, gtid, semiSync, startFrom, log } = this.#options;
    this.#activity = (width) => cut("preflight: looking at both servers", width);
    try {
      const options = preflightOptions({ init, serverId, gtid, semiSync, startFrom });
      const { checks } = await preflight({ source, target, options });
      const failed = checks.filter((check) => check.level === "error" && !ENGINE_WAITS_FOR.has(check.id));
      for (const check of checks) {
        if (check.level === "warning") log.warn(`preflight: ${check.what}`, fieldsOf(check));
      }
      for (const check of failed) log.warn(`preflight, unsafe: ${check.what}`, fieldsOf(check));
      if (failed.length > 0) throw unsafe(failed);
      return {};
    } finally {
      this.#activity = undefined;
    }
  }

  async #copy(init: Options["init"], signal: AbortSignal, onCopying: () => void): Promise<Partial<EngineOptions>> {
    const { source, target, channel, gtid, log } = this.#options;
    if (gtid === "preserve") {
      if (init === false) return {};
      throw new ReplicationError("CONFIG", "--init cannot bring the source's GTIDs, which --gtid preserve needs", {
        hint: "use --gtid own; or load the target with a dump that sets gtid_purged, and leave --init out",
      });
    }
    try {
      const onProgress = (progress: Parameters<typeof renderCopyLine>[0]): void => {
        onCopying();
        this.#activity = (width) => renderCopyLine(progress, width);
      };
      return (await initialCopy({ source, target, channel, mode: init, log, onProgress }, signal)) ?? {};
    } finally {
      this.#activity = undefined;
    }
  }
}

/** What the preflight is to know of what `replicate` would do. */
export function preflightOptions(
  options: Pick<Options, "init" | "gtid" | "semiSync"> & {
    serverId?: number | undefined;
    startFrom?: string | undefined;
  },
): PreflightOptions {
  const { init, serverId, gtid, semiSync, startFrom } = options;
  const behind = gtid === "preserve" || (startFrom !== undefined && startFrom !== "now");
  return { init: init !== false, serverId, gtid, semiSync, behind };
}

/** A server that cannot be reached: the engine applies what its relay log has, and waits, or says precisely what is wrong. */
const ENGINE_WAITS_FOR = new Set(["source-reachable", "target-reachable"]);

function fieldsOf({ id, where, remedy }: Check): Record<string, unknown> {
  return { check: id, where, remedy };
}

function unsafe(failed: readonly Check[]): ReplicationError {
  const ids = failed.map((check) => check.id).join(", ");
  const what = formatCounted(failed.length, "check");
  return new ReplicationError("PREFLIGHT", `${what} of the preflight failed: ${ids}`, {
    hint: "abreast preflight shows each with its remedy; --skip-preflight starts all the same",
  });
}
