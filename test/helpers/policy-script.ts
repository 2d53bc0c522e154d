import type { AutoPolicy } from "../../src/schedule/policies/auto.ts";
import { explainChoice } from "../../src/schedule/policies/auto.ts";
import { POLICIES, POLICY_NAMES } from "../../src/schedule/policies/policies.ts";
import type { Dependencies, Policy } from "../../src/schedule/policy.ts";
import type { SchedulerTransaction } from "../../src/schedule/scheduler-types.ts";

/**
 * Asks a policy what a text script's transactions wait for. Lines that start with `#` are prose; the others, with the answer behind `→`:
 *
 *     policy writeset history=100            a policy that knows nothing yet
 *     see mysql 8.4.5                        for `auto`: whose log it is
 *     7 clock=5:7 file=binlog.000002         a transaction by its ordinal, last_committed:sequence_number, and
 *       commit-id= schema=a,b session= rows= writes=a,b reads=p fallback opaque unknown barrier
 *
 * Keys are words; each word is a hash of its own. An answer is `waits for all up to N`, and further transactions one by one.
 *
 * @returns the script with the answers as they are now.
 */
export function playPolicyScript(script: string): string {
  const player = new PolicyPlayer();
  return script
    .trimEnd()
    .split("\n")
    .map((line) => {
      if (line.trim() === "" || line.startsWith("#")) return line;
      const command = (line.split("→")[0] ?? "").trimEnd();
      const answer = player.play(command.trim());
      return answer === undefined ? command : `${command.padEnd(44)} → ${answer}`;
    })
    .join("\n")
    .concat("\n");
}

class PolicyPlayer {
  #policy: Policy | undefined;
  readonly #hashes = new Map<string, number>();
  #ordinal: number | undefined;
  #isPacked = false;

  play(command: string): string | undefined {
    const [verb = "", ...words] = command.split(/ +/);
    const options = new Map(words.map((word) => word.split("=", 2) as [string, string]));
    if (verb === "policy") {
      const name = POLICY_NAMES.find((name) => name === words[0]);
      if (name === undefined) throw new Error(`no policy ${words[0]}`);
      this.#policy = POLICIES[name].make({
        historySize: Number(options.get("history") ?? 25_000),
        packed: words.includes("packed"),
      });
      this.#isPacked = words.includes("packed");
      this.#ordinal = undefined;
      return undefined;
    }
    if (this.#policy === undefined) throw new Error("a script begins with `policy`");
    if (verb === "see") {
      const flavour = words[0] as "mysql" | "mariadb";
      (this.#policy as AutoPolicy).see(flavour, words[1] ?? "");
      return `${this.#policy.name}. ${explainChoice(flavour, words[1] ?? "", this.#isPacked)}`;
    }
    const ordinal = Number(verb);
    if (this.#ordinal !== undefined && ordinal !== this.#ordinal + 1)
      throw new Error(`ordinals are consecutive: ${command}`);
    this.#ordinal = ordinal;
    return describe(this.#policy.dependencies(this.#transaction(ordinal, options)));
  }

  #transaction(ordinal: number, options: ReadonlyMap<string, string>): SchedulerTransaction {
    const list = (name: string): string[] => (options.get(name) ?? "").split(",").filter((word) => word !== "");
    const hashes = (name: string): number[] => list(name).map((key) => this.#hash(key));
    const [lastCommitted = 0, sequenceNumber = 0] = (options.get("clock") ?? "0:0").split(":").map(Number);
    const number = (name: string): number | undefined => (options.has(name) ? Number(options.get(name)) : undefined);
    const commitId = options.get("commit-id");
    return {
      ordinal,
      bytes: 100,
      rows: number("rows") ?? 1,
      alone: false,
      barrier: options.has("barrier"),
      startsRun: false,
      applied: options.has("applied"),
      file: options.get("file") ?? "binlog.000001",
      lastCommitted,
      sequenceNumber,
      commitId: commitId === undefined ? undefined : BigInt(commitId),
      sessionId: number("session"),
      schemas: new Set(list("schema")),
      writeset: options.has("unknown")
        ? undefined
        : {
            writes: hashes("writes"),
            reads: hashes("reads"),
            fallback: options.has("fallback"),
            opaque: options.has("opaque"),
          },
    };
  }

  #hash(key: string): number {
    const hash = this.#hashes.get(key) ?? this.#hashes.size;
    this.#hashes.set(key, hash);
    return hash;
  }
}

const describe = ({ upTo, also }: Dependencies): string =>
  `waits for all up to ${upTo}${also.length === 0 ? "" : `, and ${also.join(", ")}`}`;
