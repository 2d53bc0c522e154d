import { expect, test } from "vitest";
import type { Transaction } from "../transaction/transaction.ts";
import { checkTable, NamedTables } from "./simulate-tables.ts";

const changing = (...tables: string[]): Transaction => ({ tables: new Set(tables) }) as unknown as Transaction;

test("who names a table that the log does not change is told, with the one that may have been meant", () => {
  const named = new NamedTables();
  named.add("shop.orders", "--without-table shop.orders");
  named.add("shop.sesions", "--without-table shop.sesions");
  named.add("shop.sesions", "--with-key shop.sesions(id)");
  named.add("crm.notes", "--costs costs.json");
  named.meet(changing("shop.orders", "shop.sessions"));
  expect(named.notes()).toEqual([
    "--without-table shop.sesions changes nothing: what was read of the log has no rows of shop.sesions; did you mean shop.sessions?",
    "--with-key shop.sesions(id) changes nothing: what was read of the log has no rows of shop.sesions; did you mean shop.sessions?",
    "--costs costs.json changes nothing: what was read of the log has no rows of crm.notes",
  ]);
});

test.each(["sessions", ".sessions", "shop."])("%s is no table", (table) => {
  expect(() => checkTable("--without-table", table)).toThrow(/is no table/);
});

test("a table's name may have a dot", () => {
  expect(() => checkTable("--without-table", "shop.a.b")).not.toThrow();
});
