import { describe, expect, it } from "vitest";
import { EVENT_TYPE, eventTypeName, isKnownEventType, MARIADB_EVENTS_START } from "./event-type.ts";

describe("event types", () => {
  it("all have a name in the flavour that writes them", () => {
    for (const type of Object.values(EVENT_TYPE)) {
      const flavour = type >= MARIADB_EVENTS_START ? "mariadb" : "mysql";
      expect(eventTypeName(type, flavour)).not.toMatch(/^Unknown\(/);
      expect(isKnownEventType(type)).toBe(true);
    }
  });

  it("count from 0 to 42 and from 160 to 171 without a gap", () => {
    const numbers = Object.values(EVENT_TYPE).toSorted((a, b) => a - b);
    expect(numbers).toEqual([
      ...Array.from({ length: 43 }, (_, i) => i),
      ...Array.from({ length: 12 }, (_, i) => 160 + i),
    ]);
  });

  it("without a name are told by number, MariaDB's own also in a MySQL stream", () => {
    expect(eventTypeName(57, "mysql")).toBe("Unknown(57)");
    expect(eventTypeName(162, "mysql")).toBe("Unknown(162)");
    expect(eventTypeName(162, "mariadb")).toBe("Gtid");
    expect(eventTypeName(42, "mysql")).toBe("Gtid_tagged_log_event");
    expect(isKnownEventType(43)).toBe(false);
  });
});
