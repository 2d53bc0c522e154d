import { readFileSync } from "node:fs";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";
import { WORKERS_MAX } from "../engine/engine.ts";
import { POLICY_NAMES, type PolicyName } from "../schedule/policies/policies.ts";
import { type CostModel, costModelOf, DEFAULT_COSTS } from "../simulate/cost-model.ts";
import type { Grid } from "../simulate/simulation.ts";
import { packingDefaults } from "./options.ts";

export interface GridFlags {
  policies?: string;
  workers?: string;
  commitOrder?: string;
  packing?: string;
  dependency?: string;
  native?: true;
}

/** `auto` and `commit-order` come to the same as another one, which is in the list. */
const POLICIES_DEFAULT: readonly PolicyName[] = [
  "single",
  "database",
  "logical-clock",
  "writeset",
  "writeset-session",
  "optimistic",
];
const WORKERS_DEFAULT = "1,2,4,8,16";
const PACKED_MAX = 100_000;

/** What the flags ask for. @throws ReplicationError CONFIG */
export function gridOf(flags: GridFlags): Grid {
  const { packTransactions, packBytes, packRows, packTime, writesetHistory } = packingDefaults();
  const packing = listOf(
    "--packing",
    flags.packing ?? "off,on",
    (text) => {
      if (text === "on") return packTransactions;
      if (text === "off") return 1;
      return wholeNumber(text, PACKED_MAX);
    },
    `use on, off, or whole numbers from 1 to ${PACKED_MAX}`,
  );
  const grid: Grid = {
    policies:
      flags.policies === undefined || flags.policies === "all"
        ? POLICIES_DEFAULT
        : listOf(
            "--policies",
            flags.policies,
            (text) => POLICY_NAMES.find((name) => name === text),
            `use some of ${POLICY_NAMES.join(", ")}`,
          ),
    workers: listOf(
      "--workers",
      flags.workers ?? WORKERS_DEFAULT,
      (text) => wholeNumber(text, WORKERS_MAX),
      numbersTo(WORKERS_MAX),
    ),
    commitOrders: listOf(
      "--commit-order",
      flags.commitOrder ?? "preserve",
      (text) => (text === "preserve" || text === "relaxed" ? text : undefined),
      "use preserve, relaxed or both",
    ),
    packing,
    dependency: dependencyOf(flags.dependency ?? "graph"),
    limits: { packBytesMax: packBytes, packRowsMax: packRows, packMsMax: packTime, writesetHistory },
    native: flags.native === true,
  };
  const isEmpty = grid.policies.every((policy) => policy === "optimistic") && !grid.commitOrders.includes("preserve");
  if (isEmpty) {
    throw new ReplicationError("CONFIG", "--policies optimistic needs the commit order preserved", {
      hint: "leave --commit-order out",
    });
  }
  return grid;
}

function listOf<Value>(flag: string, text: string, parse: (text: string) => Value | undefined, hint: string): Value[] {
  const values: Value[] = [];
  for (const part of text.split(",")) {
    const value = parse(part.trim());
    if (value === undefined) {
      throw new ReplicationError("CONFIG", `${flag} has ${JSON.stringify(part.trim())}`, {
        hint,
      });
    }
    if (!values.includes(value)) values.push(value);
  }
  return values;
}

const numbersTo = (max: number): string => `give whole numbers from 1 to ${max}, with commas between them`;

function dependencyOf(text: string): Grid["dependency"] {
  if (text === "graph" || text === "low-water-mark") return text;
  throw new ReplicationError("CONFIG", `--dependency has ${JSON.stringify(text)}`, {
    hint: "use graph or low-water-mark",
  });
}

function wholeNumber(text: string, max: number): number | undefined {
  const number = Number(text);
  return /^\d+$/.test(text) && number >= 1 && number <= max ? number : undefined;
}

/** @throws ReplicationError CONFIG */
export function readCosts(file: string | undefined): CostModel {
  if (file === undefined) return DEFAULT_COSTS;
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? `is no JSON: ${error.message}` : `cannot be read: ${systemReason(error)}`;
    throw new ReplicationError("CONFIG", `--costs ${file} ${reason}`, {
      hint: "`abreast simulate --calibrate URL --save-costs FILE` writes one",
      cause: error,
    });
  }
  return costModelOf(json);
}

/** A number between these two. @throws ReplicationError CONFIG */
export function numberIn(flag: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() !== "" && number >= min && number <= max) return number;
  throw new ReplicationError("CONFIG", `${flag} is ${JSON.stringify(text)}`, {
    hint: `give a number from ${min} to ${max}`,
  });
}
