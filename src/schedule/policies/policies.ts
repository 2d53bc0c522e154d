import type { Policy } from "../policy.ts";
import { type AutoOptions, autoPolicy } from "./auto.ts";
import { commitOrderPolicy } from "./commit-order.ts";
import { databasePolicy } from "./database.ts";
import { logicalClockPolicy } from "./logical-clock.ts";
import { optimisticPolicy } from "./optimistic.ts";
import { singlePolicy } from "./single.ts";
import { writesetSessionPolicy } from "./writeset-session.ts";
import { writesetPolicy } from "./writeset.ts";

/** Every policy by the name that the operator writes, from the oldest of the field to the newest, and what it does in one line. */
export const POLICIES = {
  auto: {
    describe:
      "logical-clock where the source's clock counts writesets (MySQL 8.4 and later) or runs are packed in order and it has any clock, writeset otherwise",
    make: autoPolicy,
  },
  single: { describe: "one transaction after the other (MySQL 5.5)", make: singlePolicy },
  database: { describe: "one schema in order, schemas side by side (MySQL 5.6)", make: databasePolicy },
  "logical-clock": {
    describe: "what ran together on the source runs together (MySQL 5.7, MariaDB conservative)",
    make: logicalClockPolicy,
  },
  "commit-order": { describe: "the source's commit order, as far as it tells it (MySQL 8.0)", make: commitOrderPolicy },
  writeset: { describe: "what changes different keys runs together (MySQL 8.0)", make: writesetPolicy },
  "writeset-session": {
    describe: "writeset, and each session of the source in order (MySQL 8.0)",
    make: writesetSessionPolicy,
  },
  optimistic: {
    describe: "everything together; what conflicts is rolled back and tried again in order (MariaDB)",
    make: optimisticPolicy,
  },
} satisfies Record<string, { describe: string; make: (options: AutoOptions) => Policy }>;

export type PolicyName = keyof typeof POLICIES;
export const POLICY_NAMES = Object.keys(POLICIES) as PolicyName[];
