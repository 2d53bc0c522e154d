import { describe, expect, it } from "vitest";
import { selectContenders } from "../contest/contender.ts";
import { contendersFor } from "./contenders.ts";

describe("contenders", () => {
  it("are natives and ours in turn, ours with the source's GTIDs for every number of workers", () => {
    expect(contendersFor("mysql-9.7", [1, 4, 16], undefined).map((each) => each.name)).toEqual([
      "native-1",
      "abreast-own",
      "native-4",
      "abreast-preserve-1",
      "native-16",
      "abreast-preserve-4",
      "abreast-preserve-16",
      "abreast-relaxed",
    ]);
    expect(contendersFor("mariadb-10.11", [1, 16], undefined).map((each) => each.name)).toEqual([
      "native-1",
      "abreast-own",
      "native-16",
      "abreast-relaxed",
      "native-16-conservative",
    ]);
  });

  it("have one more for a round trip, next to the one that it is compared with", () => {
    const all = contendersFor("mysql-9.7", [1], 2).filter((each) => each.who === "abreast");
    expect(all.slice(0, 2)).toEqual([
      { name: "abreast-own", who: "abreast", workers: 4, policy: "auto", commitOrder: "preserve", gtid: "own" },
      { ...all[0], name: "abreast-own-2ms", roundTripMs: 2 },
    ]);
  });

  it("on MySQL 5.6 keep the commit order only with one worker", () => {
    const natives = contendersFor("mysql-5.6", [1, 16], undefined).filter((each) => each.who === "native");
    expect(natives.map((each) => each.commitOrder)).toEqual(["preserve", "relaxed"]);
  });

  it("can be chosen by name, and a wrong name is told with the right ones", () => {
    const all = contendersFor("mariadb-10.11", [1], undefined);
    expect(selectContenders(all, ["abreast-own"])).toHaveLength(1);
    expect(() => selectContenders(all, ["abreast-preserve"])).toThrow("abreast-preserve");
  });
});
