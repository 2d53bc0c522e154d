/**
 * What a transaction changes and relies on, as hashes. A hash is a whole number below 2^53, of the table, which of its unique keys, and the key's values as the
 * target's collations see them. Two transactions without a common hash, at least one of the two times in `writes`, change different rows and different key values.
 */
export interface Writeset {
  /** Every unique key of every before- and after-image, and the existence of key values that foreign keys refer to where they come or go. May repeat. */
  writes: readonly number[];
  /**
   * Of the parents that changed children refer to: the row where a child comes to it, else that it exists (see `KeyPlan`). The parent must be there before, and stay.
   * Readers of one key do not exclude each other.
   */
  reads: readonly number[];
  /**
   * A row has no usable key (a table without one, a NULL in the only one): such rows are told apart by no hash. Such a transaction runs beside others only as far as
   * the source says so (commit order).
   */
  fallback: boolean;
  /**
   * It changes keys that its images do not show: columns that a minimal image leaves out, a parent row whose children the server changes in cascade, a key in a
   * collation that could not be asked for. It goes by commit order as well, and everything behind waits for it.
   */
  opaque: boolean;
}

/** Changes nothing. */
export const EMPTY_WRITESET: Writeset = { writes: [], reads: [], fallback: false, opaque: false };
/** Nothing is known of what it changes. */
export const OPAQUE_WRITESET: Writeset = { writes: [], reads: [], fallback: true, opaque: true };
