import { assert } from "../base/assert.ts";

export interface MariadbGtid {
  domainId: number;
  serverId: number;
  sequence: bigint;
}

const todo = (): never => {
  assert(false, "not written yet");
};

/** One GTID per domain: the last one of each. */
export class MariadbGtidPosition {
  static parse(_text: string): MariadbGtidPosition {
    return todo();
  }
  /** The body of a Gtid_list event. Several entries of one domain (one per server): the last one stays. */
  static decode(_body: Buffer): MariadbGtidPosition {
    return todo();
  }
  encode(): Buffer {
    return todo();
  }
  update(_domainId: number, _serverId: number, _sequence: bigint): void {
    todo();
  }
  get(_domainId: number): MariadbGtid | undefined {
    return todo();
  }
  /** Whether that GTID is at or before our entry of its domain. */
  covers(_gtid: MariadbGtid): boolean {
    return todo();
  }
  entries(): MariadbGtid[] {
    return todo();
  }
  clone(): MariadbGtidPosition {
    return todo();
  }
  get isEmpty(): boolean {
    return todo();
  }
  equals(_other: MariadbGtidPosition): boolean {
    return todo();
  }
  /** `0-1-100,1-2-5`, by domain. */
  toString(): string {
    return todo();
  }
}
