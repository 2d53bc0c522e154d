import type { GroupCommitReport } from "../report.ts";

/** What goes from one thread to another. */
export interface GroupState {
  by: GroupCommitReport["by"];
  /** Whole groups inside: by power of two, number and transactions. */
  groups: number[];
  transactions: number;
  largest: number;
  /** The first and the last group, which may go on before and behind; `last` only when it is another one. */
  first: { file: string; id: number; size: number } | undefined;
  last: { file: string; id: number; size: number } | undefined;
}

/**
 * Sizes of the groups that a source committed together: neighbours with one id. An id is only good inside one file.
 *
 * Invariant: the first and the last group are kept apart, since in the log's other parts they may go on; every other group is counted once.
 */
export class CommitGroups {
  #by: GroupCommitReport["by"] = null;
  readonly #groups: number[] = [];
  #transactions = 0;
  #largest = 0;
  #first: GroupState["first"];
  #last: GroupState["last"];

  add(by: NonNullable<GroupCommitReport["by"]>, file: string, id: number): void {
    this.#by = by;
    this.#open(file, id, 1);
  }

  merge(state: GroupState): void {
    this.#by ??= state.by;
    if (state.first === undefined) return;
    this.#open(state.first.file, state.first.id, state.first.size);
    for (const [power, groups] of state.groups.entries())
      this.#groups[power] = (this.#groups[power] ?? 0) + (groups ?? 0);
    this.#transactions += state.transactions;
    this.#largest = Math.max(this.#largest, state.largest);
    if (state.last === undefined) return;
    // Not by its id: others lie between it and the first, also where that has the same.
    if (this.#last !== undefined) this.#count(this.#last.size);
    this.#last = state.last;
  }

  state(): GroupState {
    return {
      by: this.#by,
      groups: Array.from(this.#groups, (groups: number | undefined) => groups ?? 0),
      transactions: this.#transactions,
      largest: this.#largest,
      first: this.#first,
      last: this.#last,
    };
  }

  report(): GroupCommitReport {
    const { groups, ...counted } = this.state();
    let { transactions, largest } = counted;
    for (const open of [this.#first, this.#last]) {
      if (open === undefined) continue;
      const power = powerOf(open.size);
      groups[power] = (groups[power] ?? 0) + 1;
      transactions += open.size;
      largest = Math.max(largest, open.size);
    }
    const sizes = Array.from(groups, (count: number | undefined, power) => ({ upTo: 2 ** power, groups: count ?? 0 }));
    const total = sizes.reduce((sum, size) => sum + size.groups, 0);
    return { by: this.#by, groups: total, meanSize: total === 0 ? 0 : transactions / total, largest, sizes };
  }

  #open(file: string, id: number, size: number): void {
    const open = this.#last ?? this.#first;
    if (open !== undefined && open.id === id && open.file === file) {
      open.size += size;
      return;
    }
    if (this.#first === undefined) {
      this.#first = { file, id, size };
      return;
    }
    if (this.#last !== undefined) this.#count(this.#last.size);
    this.#last = { file, id, size };
  }

  #count(size: number): void {
    const power = powerOf(size);
    this.#groups[power] = (this.#groups[power] ?? 0) + 1;
    this.#transactions += size;
    this.#largest = Math.max(this.#largest, size);
  }
}

const powerOf = (size: number): number => Math.ceil(Math.log2(size));
