import type { AutoPolicy } from "../../src/schedule/policies/auto.ts";
import { POLICIES } from "../../src/schedule/policies/policies.ts";
import type { Policy } from "../../src/schedule/policy.ts";
import { createScheduler, type SchedulerState, step } from "../../src/schedule/scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput, SchedulerOptions } from "../../src/schedule/scheduler-types.ts";
import { Choices, type Course, type Epoch, type Lies, type Outcome, SERVERS, type Target } from "./scheduler-course.ts";
import { Rows } from "./scheduler-model.ts";
import {
  canBegin,
  check,
  checkBarriers,
  checkCommit,
  checkNewRun,
  checkSessionOrder,
  type Circumstances,
  isPassedOver,
} from "./scheduler-rules.ts";
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

const TURNS_MAX = 20_000;

class EngineModel {
  readonly #course: Course;
  readonly #epoch: Epoch;
  readonly #target: Target;
  readonly #choices: Choices;
  readonly #lies: Lies;
  readonly #policy: Policy;
  readonly #state: SchedulerState;
  readonly #sessions: Session[];
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
    if (epoch.policy === "auto") (policy as AutoPolicy).see(...SERVERS[course.clock]);
    this.#policy = lies.policy?.(policy) ?? policy;
    const options: SchedulerOptions = {
      ...epoch.options,
      startAfter: low,
      policy: this.#policy,
      retriesMax: 1_000_000,
      resolvesConflicts: course.poison?.resolves ?? false,
    };
    this.#state = createScheduler(lies.options?.(options) ?? options);
    this.#sessions = Array.from({ length: this.#wanted }, noSession);
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
      !canBegin(this.#state) || this.#sessions.some(({ phase }) => phase === "executing"),
      `nobody works, and somebody could: ${phases}`,
    );
    this.#nowMs = Math.max(this.#nowMs, this.#wakeAtMs);
    this.#tick();
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
      if (!session.isUp) actions.push(() => this.#connect(worker, session, true));
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
      if (phase === "idle") actions.push(() => this.#connect(worker, session, false));
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
      const isOld = transaction.ordinal % 2 === 0 && this.#course.clock === "mysql";
      (this.#policy as AutoPolicy).see(...SERVERS[isOld ? "mysql-old" : this.#course.clock]);
    }
    this.#tell({
      type: "transaction",
      transaction: { ...transaction, applied, writeset: this.#policy.needsWriteset ? transaction.writeset : undefined },
    });
  }

  #connect(worker: number, session: Session, isUp: boolean): void {
    session.isUp = isUp;
    this.#tell({ type: isUp ? "worker-ready" : "worker-lost", worker });
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
    const { transactions } = this.#course;
    checkCommit(run, this.#target.has, this.#epoch.options.commitOrder);
    if (this.#policy.name === "writeset-session") checkSessionOrder(run, transactions, this.#lastOfSession);
    for (const ordinal of run.ordinals) {
      this.#target.has.add(ordinal);
      this.#target.committed.push(ordinal);
    }
    release(session);
    session.untold = run;
    session.phase = "idle";
    session.run = session.next = undefined;
    if (next !== undefined) this.#begin(session, next);
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
          session.prepared === undefined || this.#isDraining || effect.next?.id === session.prepared.id,
          "what was made ready follows the commit",
        );
        if (effect.next !== undefined && session.prepared === undefined) this.#checkNewRun(effect.worker, effect.next);
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
          this.#sessions.every(
            (session) =>
              !isAtWork(session) || (session.phase === "executing" && isPassedOver(session.run, this.#circumstances())),
          ),
          "nothing is at work when it is drained",
        );
        this.#isOver = true;
        return;
      case "advance":
        return;
    }
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
