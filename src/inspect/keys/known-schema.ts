import type { Table } from "../../schema/catalog.ts";
import type { Schema } from "../../schema/dump.ts";
import type { ForeignKey } from "../../schema/key-catalog.ts";

/** Tables and foreign keys by name: as it is written, else by one that differs in case, else in the schema that a dump does not name. */
export class KnownSchema {
  readonly #tables = new Map<string, Table>();
  readonly #asChild = new Map<string, ForeignKey[]>();
  readonly #asParent = new Map<string, ForeignKey[]>();

  constructor({ tables, foreignKeys }: Schema) {
    for (const table of tables) {
      const lower = keyOf(table.schema.toLowerCase(), table.name.toLowerCase());
      if (!this.#tables.has(lower)) this.#tables.set(lower, table);
    }
    for (const table of tables) this.#tables.set(keyOf(table.schema, table.name), table);
    for (const key of foreignKeys) {
      add(this.#asChild, this.table(key.schema, key.table), key);
      add(this.#asParent, this.table(key.parentSchema, key.parentTable), key);
    }
  }

  table(schema: string, name: string): Table | undefined {
    return (
      this.#tables.get(keyOf(schema, name)) ??
      this.#tables.get(keyOf(schema.toLowerCase(), name.toLowerCase())) ??
      this.#tables.get(keyOf("", name))
    );
  }

  foreignKeysOf(table: Table): { key: ForeignKey; parent: Table | undefined }[] {
    const keys = this.#asChild.get(keyOf(table.schema, table.name)) ?? [];
    return keys.map((key) => ({ key, parent: this.table(key.parentSchema, key.parentTable) }));
  }

  referencedBy(table: Table): readonly ForeignKey[] {
    return this.#asParent.get(keyOf(table.schema, table.name)) ?? [];
  }
}

const keyOf = (schema: string, name: string): string => `${schema}\0${name}`;

function add(map: Map<string, ForeignKey[]>, table: Table | undefined, key: ForeignKey): void {
  if (table === undefined) return;
  const name = keyOf(table.schema, table.name);
  const list = map.get(name);
  if (list === undefined) map.set(name, [key]);
  else list.push(key);
}
