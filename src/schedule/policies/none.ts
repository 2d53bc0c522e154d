/** The `also` of a transaction that needs nobody in particular: one array for all of them. */
export const NONE: readonly number[] = Object.freeze([]);
