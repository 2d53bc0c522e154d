import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReplicationError } from "../base/error.ts";
import { decodeGtidListBody, MariadbGtidPosition, parseMariadbGtid } from "./mariadb.ts";

describe("a MariaDB GTID position", () => {
  it("keeps one entry per domain after a failover, also when the sequence falls", () => {
    const position = MariadbGtidPosition.parse("0-963-200");
    position.update(0, 1013, 100n);
    expect(position.toString()).toBe("0-1013-100");
  });

  it("prints two domains in order, each with its last GTID", () => {
    const position = new MariadbGtidPosition();
    position.update(1, 2, 5n);
    position.update(0, 1, 99n);
    position.update(0, 1, 100n);
    expect(position.toString()).toBe("0-1-100,1-2-5");
    expect(position.get(1)).toEqual({ domainId: 1, serverId: 2, sequence: 5n });
    expect(position.get(7)).toBeUndefined();
  });

  it("covers what the same server wrote before it in the same domain", () => {
    const position = MariadbGtidPosition.parse("0-1-100,1-2-5");
    expect(position.covers(parseMariadbGtid("0-1-100"))).toBe(true);
    expect(position.covers(parseMariadbGtid("0-1-99"))).toBe(true);
    expect(position.covers(parseMariadbGtid("0-1-101"))).toBe(false);
    expect(position.covers(parseMariadbGtid("2-1-1"))).toBe(false);
  });

  it("after a failover to lower sequences covers neither too much nor too little", () => {
    const position = MariadbGtidPosition.parse("0-963-200");
    expect(position.covers(parseMariadbGtid("0-1013-100"))).toBe(false);
    position.update(0, 1013, 100n);
    expect(position.toString()).toBe("0-1013-100");
    for (const text of ["0-1013-100", "0-963-200"]) expect(position.covers(parseMariadbGtid(text))).toBe(true);
    expect(position.clone().covers(parseMariadbGtid("0-963-200"))).toBe(true);
    expect(position.covers(parseMariadbGtid("0-1013-101"))).toBe(false);
  });

  it("is not changed by its clone or by what it gave out", () => {
    const position = MariadbGtidPosition.parse("0-1-100");
    const copy = position.clone();
    copy.update(0, 1, 101n);
    for (const entry of position.entries()) entry.sequence = 7n;
    expect(position.toString()).toBe("0-1-100");
    expect(position.equals(copy)).toBe(false);
    expect(new MariadbGtidPosition().isEmpty).toBe(true);
  });

  it.each(["0-1", "0-1-2-3", "a-1-2", "0-1-100,0-2-5", "4294967296-1-1", "0-1-18446744073709551616", ","])(
    "%j is refused with advice",
    (text) => {
      expect(() => MariadbGtidPosition.parse(text)).toThrow(
        expect.objectContaining({ code: "CONFIG", hint: expect.any(String) }),
      );
    },
  );

  it("takes the last of a domain's entries in a Gtid_list, and keeps its flags apart from the count", () => {
    const body = Buffer.alloc(4 + 32);
    body.writeUInt32LE(0x1000_0002);
    body.writeUInt32LE(1, 8);
    body.writeBigUInt64LE(200n, 12);
    body.writeUInt32LE(2, 24);
    body.writeBigUInt64LE(100n, 28);
    expect(MariadbGtidPosition.decode(body).toString()).toBe("0-2-100");
    expect(decodeGtidListBody(body)).toMatchObject({ flags: 0x1000_0000, gtids: { length: 2 } });
    expect(() => decodeGtidListBody(body.subarray(0, -1))).toThrow(ReplicationError);
  });

  it("comes back from its text and its bytes", () => {
    const id = fc.integer({ min: 0, max: 0xffff_ffff });
    const entry = fc.tuple(id, id, fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
        const position = new MariadbGtidPosition();
        for (const [domainId, serverId, sequence] of entries) position.update(domainId, serverId, sequence);
        expect(MariadbGtidPosition.parse(position.toString()).equals(position)).toBe(true);
        expect(MariadbGtidPosition.decode(position.encode()).equals(position)).toBe(true);
      }),
    );
  });
});
