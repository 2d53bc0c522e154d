import { assert } from "../base/assert.ts";

/** A set of MySQL GTIDs. Signatures first; the body follows. Uuids are lower-case with dashes; a tag is "" when there is none; intervals are inclusive. */
export interface GtidInterval {
  first: bigint;
  last: bigint;
}

const todo = (): never => {
  assert(false, "not written yet");
};

export class GtidSet {
  static parse(_text: string): GtidSet {
    return todo();
  }
  static decode(_bytes: Buffer): GtidSet {
    return todo();
  }
  /** `tagged` picks the layout of 8.3+; without it a set that has tags throws. Default: tagged only when the set has tags. */
  encode(_tagged?: boolean): Buffer {
    return todo();
  }
  /** False when it was there already. O(1) when gno follows the last one of its (uuid, tag). */
  add(_uuid: string, _tag: string, _gno: bigint): boolean {
    return todo();
  }
  addInterval(_uuid: string, _tag: string, _first: bigint, _last: bigint): void {
    todo();
  }
  contains(_uuid: string, _tag: string, _gno: bigint): boolean {
    return todo();
  }
  /** New sets; the operands stay. */
  union(_other: GtidSet): GtidSet {
    return todo();
  }
  subtract(_other: GtidSet): GtidSet {
    return todo();
  }
  intersect(_other: GtidSet): GtidSet {
    return todo();
  }
  isSubsetOf(_other: GtidSet): boolean {
    return todo();
  }
  equals(_other: GtidSet): boolean {
    return todo();
  }
  clone(): GtidSet {
    return todo();
  }
  get isEmpty(): boolean {
    return todo();
  }
  /** How many GTIDs are in it. */
  get size(): bigint {
    return todo();
  }
  /** `[uuid, tag, intervals]` sorted as printed. */
  entries(): [string, string, GtidInterval[]][] {
    return todo();
  }
  /** The server's canonical form: `uuid:1-5:7,uuid:1-3:tag:1`. */
  toString(): string {
    return todo();
  }
}
