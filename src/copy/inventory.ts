import { createHash } from "node:crypto";
import { readTables, type Table } from "../schema/catalog.ts";
import { normalizeCreate } from "../schema/definition.ts";
import { describeTable, NOT_SYSTEM_SCHEMA, quoteTable } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import { readStoredObjects, type StoredObject } from "./stored-objects.ts";

export interface SourceSchema {
  name: string;
  charset: string;
  collation: string;
}

export interface SourceTable extends Table {
  /** SHOW CREATE TABLE, without its schema. */
  create: string;
  /** Of the definition, without AUTO_INCREMENT: two equal ones mean that no DDL came between. */
  hash: string;
}

/** MariaDB's sequences. `next`: the value it will not give out before. */
export interface SourceSequence {
  schema: string;
  name: string;
  create: string;
  next: string;
}

/** Everything that a copy makes, except for rows. */
export interface Inventory {
  schemas: SourceSchema[];
  tables: SourceTable[];
  sequences: SourceSequence[];
  objects: StoredObject[];
  /** Of schemas, sequences and objects together. */
  hash: string;
  /** What is not copied, one sentence each. */
  warnings: string[];
}

/** Reads the definitions. The session speaks `SET NAMES binary`, for bodies of views and routines have the character set of who wrote them. */
export async function readInventory(session: Session): Promise<Inventory> {
  const schemas = await session.query(
    "SELECT SCHEMA_NAME AS name, DEFAULT_CHARACTER_SET_NAME AS charset_name, DEFAULT_COLLATION_NAME AS collation_name " +
      `FROM information_schema.SCHEMATA WHERE SCHEMA_NAME ${NOT_SYSTEM_SCHEMA} ORDER BY SCHEMA_NAME`,
  );
  const warnings: string[] = [];
  const tables = await Promise.all(
    (await readTables(session)).map(async (table) => {
      const [row] = await session.query(`SHOW CREATE TABLE ${quoteTable(table)}`);
      const create = row?.["Create Table"] ?? "";
      return { ...table, create, hash: sha256(normalizeCreate(create)) };
    }),
  );
  for (const table of tables) warnings.push(...tableWarnings(table));
  const sequences = await readSequences(session);
  const { objects, warnings: objectWarnings } = await readStoredObjects(session);
  const inventory = {
    schemas: schemas.map((row) => ({
      name: row["name"] ?? "",
      charset: row["charset_name"] ?? "",
      collation: row["collation_name"] ?? "",
    })),
    sequences,
    objects,
  };
  const hash = sha256(
    JSON.stringify([
      inventory.schemas,
      sequences.map(({ schema, name }) => [schema, name]),
      objects.map(({ kind, schema, name, statement }) => [kind, schema, name, statement.toString("hex")]),
    ]),
  );
  return { ...inventory, tables, hash, warnings: [...warnings, ...objectWarnings] };
}

const TRANSACTIONAL = new Set(["innodb", "rocksdb", "ndbcluster", "tokudb"]);

function tableWarnings(table: Table): string[] {
  const name = describeTable(table);
  const warnings: string[] = [];
  if (!TRANSACTIONAL.has(table.engine.toLowerCase())) {
    warnings.push(`${name} is ${table.engine}, which has no snapshots: write nothing to it until its copy is done`);
  }
  if (table.kind === "system-versioned") warnings.push(`${name} is system-versioned: only its current rows are copied`);
  return warnings;
}

async function readSequences(session: Session): Promise<SourceSequence[]> {
  if (session.serverVersion.flavour !== "mariadb") return [];
  const rows = await session.query(
    "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t FROM information_schema.TABLES " +
      `WHERE TABLE_TYPE='SEQUENCE' AND TABLE_SCHEMA ${NOT_SYSTEM_SCHEMA} ORDER BY TABLE_SCHEMA, TABLE_NAME`,
  );
  return Promise.all(
    rows.map(async (row) => {
      const sequence = { schema: row["s"] ?? "", name: row["t"] ?? "" };
      const [definition] = await session.query(`SHOW CREATE SEQUENCE ${quoteTable(sequence)}`);
      const next = await session.queryValue(`SELECT next_not_cached_value FROM ${quoteTable(sequence)}`);
      return { ...sequence, create: definition?.["Create Table"] ?? "", next: next ?? "1" };
    }),
  );
}

/** Whether nothing was defined anew between two inventories. */
export function sameDefinitions(a: Inventory, b: Inventory): boolean {
  const hashes = (inventory: Inventory): string =>
    JSON.stringify(inventory.tables.map(({ schema, name, hash }) => [schema, name, hash]));
  return a.hash === b.hash && hashes(a) === hashes(b);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
