import type { Transaction } from "./transaction.ts";

/**
 * Whether a transaction can share one transaction of the target with its neighbours: it has rows (or nothing), and all that it changes can be rolled back.
 */
export function isPackable(transaction: Transaction): boolean {
  switch (transaction.kind) {
    case "rows":
      return transaction.transactional;
    case "empty":
    case "alter-start":
    case "alter-rollback":
      return true;
    default:
      return false;
  }
}
