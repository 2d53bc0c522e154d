import { ReplicationError } from "../../base/error.ts";
import { deleteInsert } from "./delete-insert.ts";
import { fourCauses } from "./four-causes.ts";
import { generations } from "./generations.ts";
import { network } from "./network.ts";
import type { Scenario } from "./scenario.ts";
import { tracking } from "./tracking.ts";
import { workers } from "./workers.ts";

/** In the order of `bench list`. */
export const SCENARIOS: readonly Scenario[] = [generations, workers, tracking, deleteInsert, fourCauses, network];

/** @throws ReplicationError CONFIG when there is none of this name */
export function findScenario(name: string): Scenario {
  const scenario = SCENARIOS.find((each) => each.name === name);
  if (scenario !== undefined) return scenario;
  throw new ReplicationError("CONFIG", `there is no scenario called ${name}`, {
    hint: `choose from ${SCENARIOS.map((each) => each.name).join(", ")}`,
  });
}
