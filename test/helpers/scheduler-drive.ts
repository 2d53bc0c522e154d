import type { AutoPolicy } from "../../src/schedule/policies/auto.ts";
import { POLICIES, type PolicyName } from "../../src/schedule/policies/policies.ts";
import type { Policy } from "../../src/schedule/policy.ts";
import { createScheduler, type SchedulerState, step } from "../../src/schedule/scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput, SchedulerOptions } from "../../src/schedule/scheduler-types.ts";
import { type ClockKind, type ModelTransaction, Rows } from "./scheduler-model.ts";
import { check, checkBarriers, checkNewRun, type Circumstances } from "./scheduler-rules.ts";
import {
  blockersOf,
  isAtWork,
  isDeadlocked,
  noSession,
  type Phase,
  release,
  type Session,
  undo,
} from "./scheduler-sessions.ts";

/** An engine from its start to its end. */
export interface Epoch {
  policy: PolicyName;
  historySize: number;
  options: Omit<SchedulerOptions, "startAfter" | "policy" | "retriesMax" | "resolvesConflicts">;
}

export interface Course {
  transactions: readonly ModelTransaction[];
  clock: ClockKind;
  /** One after the other, each with what the former left; the last one goes to the end. */
  epochs: readonly Epoch[];
  /** Each decides what happens next; when they are used up, no more trouble comes, and everybody gets a turn. */
  choices: readonly number[];
  /** This one never succeeds, unless the conflict is resolved. */
  poison: { ordinal: number; resolves: boolean } | undefined;
}

/** For tests of the test: where the machine, or who uses it, does not do what it says. */
export interface Lies {
  policy?: (policy: Policy) => Policy;
  options?: (options: SchedulerOptions) => SchedulerOptions;
  isDeafToLockWaits?: boolean;
  isDeafToTime?: boolean;
  /** After a restart. */
  forgetsApplied?: boolean;
}

export interface Outcome {
  rows: Rows;
  /** In the order of their commits. */
  committed: readonly number[];
  haltedAt: number | undefined;
  lockBreaks: number;
}

/**
 * Plays a course to its end.
 * @throws Error when the scheduler does something that it must not, or nothing at all
 */
export function drive(course: Course, lies: Lies = {}): Outcome {
  const target: Target = { rows: new Rows(), committed: [], has: new Set() };
  const choices = new Choices(course.choices);
  let lockBreaks = 0;
  for (const [index, epoch] of course.epochs.entries()) {
    const engine = new EngineModel(course, epoch, target, choices, lies);
    const { haltedAt } = engine.run(index === course.epochs.length - 1);
    lockBreaks += engine.lockBreaks;
    if (haltedAt !== undefined) return { ...target, haltedAt, lockBreaks };
  }
  return { ...target, haltedAt: undefined, lockBreaks };
}

interface Target {
  rows: Rows;
  committed: number[];
  has: Set<number>;
}

class Choices {
  #next = 0;
  #seed = 1;
  readonly #given: readonly number[];

  constructor(given: readonly number[]) {
    this.#given = given;
  }

  get isCalm(): boolean {
    return this.#next >= this.#given.length;
  }

  take(): number {
    const given = this.#given[this.#next++];
    if (given !== undefined) return given;
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed >>> 8;
  }
}

const TURNS_MAX = 20_000;

class EngineModel {
  readonly #course: Course;
  readonly #epoch: Epoch;
  readonly #target: Target;
  readonly #choices: Choices;
  readonly #lies: Lies;
  readonly #policy: Policy;
  readonly #state: SchedulerState;
  readonly #sessions: Session[] = [];
  /** Of which the scheduler knows that they are committed. */
  readonly #told = new Set<number>();
  /** Runs that were begun or made ready. */
  readonly #runs = new Set<number>();
  readonly #toldLockWaits = new Set<string>();
  readonly #lastOfSession = new Map<number, number>();
  #lowWater: number;
  #arrived: number;
  #wanted: number;
  #nowMs = 1_000;
  #wakeAtMs: number | undefined;
  #isDraining = false;
  #isOver = false;
  #haltedAt: number | undefined;

  constructor(course: Course, epoch: Epoch, target: Target, choices: Choices, lies: Lies) {
    this.#course = course;
    this.#epoch = epoch;
    this.#target = target;
    this.#choices = choices;
    this.#lies = lies;
    let low = 0;
    while (target.has.has(low + 1)) low++;
    this.#lowWater = this.#arrived = low;
    for (let ordinal = 1; ordinal <= low; ordinal++) this.#told.add(ordinal);
    this.#wanted = epoch.options.workers;
    const policy = POLICIES[epoch.policy].make({ historySize: epoch.historySize });
    if (epoch.policy === "auto") {
      const [flavour, version] = SERVERS[course.clock];
      (policy as AutoPolicy).see(flavour, version);
    }
    this.#policy = lies.policy?.(policy) ?? policy;
    const options: SchedulerOptions = {
      ...epoch.options,
      startAfter: low,
      policy: this.#policy,
      retriesMax: 1_000_000,
      resolvesConflicts: course.poison?.resolves ?? false,
    };
    this.#state = createScheduler(lies.options?.(options) ?? options);
    for (let worker = 0; worker < this.#wanted; worker++) this.#sessions.push(noSession());
  }

  get lockBreaks(): number {
    return this.#state.lockBreaks;
  }

  run(isLast: boolean): { haltedAt: number | undefined } {
    for (let turn = 0; !this.#isOver; turn++) {
      if (turn > TURNS_MAX) throw new Error("it does not come to an end");
      if (this.#lowWater === this.#course.transactions.length) break;
      const usual = this.#usual();
      const choice = this.#choices.take();
      const calm = this.#choices.isCalm;
      const trouble = calm || choice % 8 > 0 ? [] : this.#trouble(isLast);
      const pick = Math.floor(choice / 8);
      if (calm && !isLast) this.#crash(pick);
      else if (trouble.length > 0) trouble[pick % trouble.length]?.(Math.floor(pick / trouble.length));
      else if (usual.length > 0) usual[pick % usual.length]?.(Math.floor(pick / usual.length));
      else this.#waitForTime();
    }
    for (const session of this.#sessions) undo(session);
    return { haltedAt: this.#haltedAt };
  }

  /** Nobody has anything to do: only time can help, and the scheduler must have said when. What could begin has begun. */
  #waitForTime(): void {
    const { slots } = this.#state;
    const phases = `low water ${this.#lowWater}, ${slots.map(({ phase }) => phase).join(", ")}`;
    check(this.#wakeAtMs !== undefined, `nobody works, and nothing will change that: ${phases}`);
    check(
      !this.#canBegin() || this.#sessions.some(({ phase }) => phase === "executing"),
      `nobody works, and somebody could: ${phases}`,
    );
    this.#nowMs = Math.max(this.#nowMs, this.#wakeAtMs);
    this.#tick();
  }

  #canBegin(): boolean {
    const { slots, window, options } = this.#state;
    const start = window.readyAfter(0);
    const isStopped = options.dependency === "low-water-mark" && start !== window.firstPending();
    return start !== undefined && !isStopped && slots.slice(0, this.#wanted).some(({ phase }) => phase === "idle");
  }

  #tick(): void {
    this.#wakeAtMs = undefined;
    if (this.#lies.isDeafToTime !== true) this.#tell({ type: "tick" });
  }

  /** What may happen without anything going wrong. */
  #usual(): ((choice: number) => void)[] {
    const actions: ((choice: number) => void)[] = [];
    if (this.#arrived < this.#course.transactions.length) {
      const arrive = (choice: number): void => {
        for (let count = 0; count <= choice % 4 && !this.#isOver; count++) this.#arrive();
      };
      actions.push(arrive, arrive);
    }
    if (this.#wakeAtMs !== undefined) {
      // A timer may be a little early.
      const wakeAtMs = this.#wakeAtMs;
      actions.push((choice) => {
        this.#nowMs = Math.max(this.#nowMs, Math.min(this.#nowMs + (choice % 30), wakeAtMs));
        if (this.#nowMs >= wakeAtMs - 1) this.#tick();
      });
    }
    for (const [worker, session] of this.#sessions.entries()) {
      if (session.isRetired) continue;
      if (!session.isUp) actions.push(() => this.#reconnect(worker, session));
      else if (session.untold !== undefined) actions.push(() => this.#tellCommitted(worker, session));
      if (session.phase === "executing") actions.push(...this.#execution(worker, session));
      if (session.phase === "committing") actions.push(() => this.#commit(session));
      if (session.phase === "rolling-back") {
        actions.push((choice) => {
          if (choice % 4 === 0) this.#tell({ type: "executed", worker });
          this.#fail(worker, session, "now");
        });
      }
    }
    return actions;
  }

  #execution(worker: number, session: Session): ((choice: number) => void)[] {
    const blockers = blockersOf(worker, this.#sessions, this.#target.rows);
    if (blockers.length === 0) return [(choice) => this.#execute(worker, session, 1 + (choice % 8))];
    if (isDeadlocked(worker, this.#sessions, this.#target.rows) && session.untold === undefined)
      return [() => this.#fail(worker, session, "now")];
    const told = [
      worker,
      session.run?.id,
      ...blockers.map((each) => `${each} ${this.#sessions[each]?.run?.id} ${this.#state.slots[each]?.phase}`),
    ].join();
    if (session.untold !== undefined || this.#toldLockWaits.has(told) || this.#lies.isDeafToLockWaits === true)
      return [];
    return [
      () => {
        this.#toldLockWaits.add(told);
        this.#tell({ type: "lock-wait", waiter: worker, blockers });
      },
    ];
  }

  /** What may go wrong, and what an operator may do. */
  #trouble(isLast: boolean): ((choice: number) => void)[] {
    const actions: ((choice: number) => void)[] = [(choice) => this.#resize(1 + (choice % 6))];
    if (!isLast) actions.push((choice) => this.#crash(choice));
    if (!isLast && !this.#isDraining) {
      actions.push(() => {
        this.#isDraining = true;
        this.#tell({ type: "drain" });
      });
    }
    for (const [worker, session] of this.#sessions.entries()) {
      const { phase, run } = session;
      if (!session.isUp || session.untold !== undefined) continue;
      if (phase === "idle") actions.push(() => this.#lose(worker, session));
      if (phase !== "idle") actions.push(() => this.#fail(worker, session, "later", true));
      if (phase === "executing" || phase === "committing") actions.push(() => this.#fail(worker, session, "now"));
      if (phase === "executing") {
        actions.push(() => this.#fail(worker, session, "later"));
        if (run !== undefined && (run.ordinals.length > 1 || !run.atTurn))
          actions.push(() => this.#fail(worker, session, "never"));
        // A target that cannot say who waits for whom: all later ones that have something are named.
        const later = [...this.#sessions.keys()].filter(
          (other) => (this.#sessions[other]?.run?.first ?? 0) > (run?.first ?? 0),
        );
        if (later.length > 0) actions.push(() => this.#tell({ type: "lock-wait", waiter: worker, blockers: later }));
      }
    }
    return actions;
  }

  #arrive(): void {
    const transaction = this.#course.transactions[this.#arrived];
    if (transaction === undefined) return;
    this.#arrived++;
    const applied = this.#target.has.has(transaction.ordinal) && this.#lies.forgetsApplied !== true;
    if (applied) this.#told.add(transaction.ordinal);
    if (this.#epoch.policy === "auto" && transaction.startsRun) {
      const [flavour, version] =
        SERVERS[transaction.ordinal % 2 === 0 && this.#course.clock === "mysql" ? "mysql-old" : this.#course.clock];
      (this.#policy as AutoPolicy).see?.(flavour, version);
    }
    this.#tell({
      type: "transaction",
      transaction: { ...transaction, applied, writeset: this.#policy.needsWriteset ? transaction.writeset : undefined },
    });
  }

  #reconnect(worker: number, session: Session): void {
    session.isUp = true;
    this.#tell({ type: "worker-ready", worker });
  }

  #lose(worker: number, session: Session): void {
    session.isUp = false;
    this.#tell({ type: "worker-lost", worker });
  }

  #resize(count: number): void {
    this.#wanted = count;
    for (let worker = 0; worker < count; worker++) {
      const session = this.#sessions[worker];
      if (session === undefined || session.isRetired) this.#sessions[worker] = noSession();
    }
    this.#tell({ type: "workers", count });
  }

  #crash(choice: number): void {
    for (const session of this.#sessions) if (session.phase === "committing" && choice % 2 === 0) this.#commit(session);
    this.#isOver = true;
  }

  #begin(session: Session, run: Run): void {
    this.#toldLockWaits.clear();
    session.phase = "executing";
    session.run = run;
    session.done = 0;
    session.changes = run.ordinals.flatMap((ordinal) => this.#course.transactions[ordinal - 1]?.changes ?? []);
  }

  #execute(worker: number, session: Session, count: number): void {
    for (let made = 0; made < count; made++) {
      const { run } = session;
      const change = session.changes[session.done];
      if (run === undefined || blockersOf(worker, this.#sessions, this.#target.rows).length > 0) return;
      if (change === undefined) {
        if (session.untold !== undefined) return this.#tellCommitted(worker, session);
        const { poison } = this.#course;
        if (poison !== undefined && run.ordinals.includes(poison.ordinal) && !run.resolve)
          return this.#fail(worker, session, "never", false, true);
        check(
          !run.resolve || run.ordinals.includes(poison?.ordinal ?? 0),
          `run ${run.ordinals.join()} resolves a conflict that came of its being too early`,
        );
        session.phase = "executed";
        return this.#tell({ type: "executed", worker });
      }
      for (const { name, exclusive } of this.#target.rows.locks(change))
        session.locks.set(name, exclusive || session.locks.get(name) === true);
      const result = this.#target.rows.apply(change);
      if ("conflict" in result) {
        check(
          this.#policy.speculative && !run.atTurn,
          `run ${run.ordinals.join()} meets a conflict: ${result.conflict}`,
        );
        if (session.untold !== undefined) this.#tellCommitted(worker, session);
        return this.#fail(worker, session, "never", false, true);
      }
      session.undos.push(result.undo);
      session.done++;
    }
  }

  /** On the target; the engine hears of it later. */
  #commit(session: Session): void {
    const { run, next } = session;
    if (run === undefined) return;
    for (const ordinal of run.ordinals) {
      check(!this.#target.has.has(ordinal), `${ordinal} is committed twice`);
      if (this.#epoch.options.commitOrder === "preserve") {
        for (let before = 1; before < ordinal; before++)
          check(this.#target.has.has(before), `${ordinal} is committed before ${before}`);
      }
      this.#checkSessionOrder(ordinal);
      this.#target.has.add(ordinal);
      this.#target.committed.push(ordinal);
    }
    release(session);
    session.untold = run;
    session.phase = "idle";
    session.run = session.next = undefined;
    if (next !== undefined) this.#begin(session, next);
  }

  #checkSessionOrder(ordinal: number): void {
    if (this.#policy.name !== "writeset-session") return;
    const source = this.#course.transactions[ordinal - 1]?.sessionId;
    if (source === undefined) return;
    check(
      (this.#lastOfSession.get(source) ?? 0) < ordinal,
      `${ordinal} is committed behind a later one of its session`,
    );
    this.#lastOfSession.set(source, ordinal);
  }

  #tellCommitted(worker: number, session: Session): void {
    for (const ordinal of session.untold?.ordinals ?? []) this.#told.add(ordinal);
    session.untold = undefined;
    this.#tell({ type: "committed", worker });
  }

  #fail(worker: number, session: Session, retry: "now" | "later" | "never", isLost = false, isConflict = false): void {
    undo(session);
    session.phase = "idle";
    session.run = session.prepared = session.next = undefined;
    if (isLost) session.isUp = false;
    this.#tell({ type: "failed", worker, retry, isConflict, reason: "the test says so" });
    if (isLost && !this.#isOver) this.#tell({ type: "worker-lost", worker });
  }

  #tell(input: SchedulerInput): void {
    const lowBefore = this.#lowWater;
    const effects = step(this.#state, input, this.#nowMs);
    while (this.#lowWater < this.#arrived && this.#told.has(this.#lowWater + 1)) this.#lowWater++;
    const advances = effects.filter((effect) => effect.type === "advance").map(({ lowWater }) => lowWater);
    const isHalt = effects.some(({ type }) => type === "halt");
    if (this.#lowWater > lowBefore)
      check(advances.at(-1) === this.#lowWater, `the low-water mark is ${this.#lowWater}, not ${advances.join()}`);
    else check(advances.length === 0 || isHalt, `the low-water mark did not move to ${advances.join()}`);
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: SchedulerEffect): void {
    switch (effect.type) {
      case "execute": {
        const session = this.#sessionOf(effect.worker, ["idle"], effect.type);
        check(!this.#isDraining, "a run is begun while the scheduler drains");
        if (!this.#runs.has(effect.run.id)) this.#checkNewRun(effect.worker, effect.run);
        checkBarriers(effect.run, this.#circumstances());
        check(effect.run.atTurn === (effect.run.first === this.#lowWater + 1), "a run knows whether it is its turn");
        return this.#begin(session, effect.run);
      }
      case "prepare": {
        const session = this.#sessionOf(effect.worker, ["executing"], effect.type);
        check(session.prepared === undefined, "one run is made ready at a time");
        this.#checkNewRun(effect.worker, effect.run);
        session.prepared = effect.run;
        return;
      }
      case "commit": {
        const session = this.#sessionOf(effect.worker, ["executed"], effect.type);
        check(session.run?.id === effect.run.id, "what is committed is what was executed");
        check(
          effect.next === undefined || effect.next.id === session.prepared?.id,
          "what follows a commit was made ready",
        );
        session.phase = "committing";
        session.prepared = undefined;
        session.next = effect.next;
        return;
      }
      case "rollback": {
        const session = this.#sessionOf(effect.worker, ["executing", "executed"], effect.type);
        check(session.run?.id === effect.run.id, "what is rolled back is what was executed");
        session.prepared = undefined;
        session.phase = "rolling-back";
        return;
      }
      case "retire": {
        const session = this.#sessions[effect.worker];
        check(
          session?.phase === "idle" && !session.isRetired && effect.worker >= this.#wanted,
          `worker ${effect.worker} must not go`,
        );
        this.#sessions[effect.worker] = { ...noSession(), isRetired: true };
        return;
      }
      case "wake":
        check(effect.atMs > this.#nowMs, "who is to be woken is woken later");
        this.#wakeAtMs = effect.atMs;
        return;
      case "halt":
        check(
          effect.run.ordinals.length === 1 && effect.run.first === this.#course.poison?.ordinal,
          `it halts at ${effect.run.ordinals.join()}`,
        );
        check(this.#lowWater === effect.run.first - 1, "it halts when everything before is committed");
        this.#haltedAt = effect.run.first;
        this.#isOver = true;
        return;
      case "drained":
        check(this.#isDraining, "it drains when it is told to");
        check(
          this.#sessions.every((session) => !isAtWork(session) || this.#isPassedOver(session)),
          "nothing is at work when it is drained",
        );
        this.#isOver = true;
        return;
      case "advance":
        return;
    }
  }

  /** It cannot be committed any more, because something before it was not begun. */
  #isPassedOver({ phase, run }: Session): boolean {
    if (this.#epoch.options.commitOrder === "relaxed" || phase !== "executing" || run === undefined) return false;
    const begun = new Set(this.#circumstances().otherRuns.flatMap(({ ordinals }) => ordinals));
    for (let ordinal = this.#lowWater + 1; ordinal < run.first; ordinal++) if (!begun.has(ordinal)) return true;
    return false;
  }

  #sessionOf(worker: number, phases: readonly Phase[], what: string): Session {
    const session = this.#sessions[worker];
    check(
      session !== undefined &&
        session.isUp &&
        !session.isRetired &&
        session.untold === undefined &&
        phases.includes(session.phase),
      `worker ${worker} gets ${what} while it is ${session?.isUp === true ? session.phase : "without a session"}`,
    );
    return session;
  }

  #checkNewRun(worker: number, run: Run): void {
    check(!this.#runs.has(run.id), "a new run is new");
    this.#runs.add(run.id);
    checkNewRun(run, this.#circumstances());
    const wanted = this.#state.slots.slice(0, this.#wanted);
    const isNeeded = run.first === this.#lowWater + 1 && !wanted.some(({ phase }) => phase === "idle");
    check(worker < this.#wanted || isNeeded, "a worker that is not wanted gets nothing new");
  }

  #circumstances(): Circumstances {
    return {
      transactions: this.#course.transactions,
      options: this.#epoch.options,
      arrived: this.#arrived,
      lowWater: this.#lowWater,
      committed: this.#told,
      otherRuns: this.#sessions.flatMap(({ run, prepared, next }) =>
        [run, prepared, next].filter((each) => each !== undefined),
      ),
    };
  }
}

const SERVERS: Record<ClockKind | "mysql-old", ["mysql" | "mariadb", string]> = {
  none: ["mysql", "5.6.51"],
  mysql: ["mysql", "9.7.0"],
  "mysql-old": ["mysql", "8.0.36"],
  mariadb: ["mariadb", "10.11.19-MariaDB-log"],
};
