import { expect, test } from "vitest";
import { parseSchemaDump } from "../schema/dump.ts";
import { DEFAULT_COSTS } from "./cost-model.ts";
import { withSchema } from "./schema-costs.ts";

const SCHEMA = parseSchemaDump(`CREATE DATABASE shop; USE shop;
  CREATE TABLE bare (id INT PRIMARY KEY, a INT);
  CREATE TABLE usual (id INT PRIMARY KEY, a INT, KEY (a));
  CREATE TABLE rich (id INT PRIMARY KEY, a INT, b INT, KEY (a), UNIQUE KEY (b));`);

test("a row of a table with more indexes costs more, and what a model says of a table stays", () => {
  const costs = { ...DEFAULT_COSTS, tables: { "shop.rich": { deleteUs: 77 } } };
  const { tables } = withSchema(costs, SCHEMA);
  const { updateUs, insertUs, indexUs } = DEFAULT_COSTS.target;
  expect(tables["shop.bare"]?.updateUs).toBe(Math.max(0, updateUs - indexUs));
  expect(tables["shop.usual"]).toMatchObject({ updateUs, insertUs });
  expect(tables["shop.rich"]).toMatchObject({ updateUs: updateUs + indexUs, deleteUs: 77 });
  expect(withSchema(costs, undefined)).toBe(costs);
});
