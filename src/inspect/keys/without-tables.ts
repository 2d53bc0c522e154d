import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { eventType } from "../../binlog/event.ts";
import { isRowsType, rowsTableId } from "../../binlog/events/rows.ts";
import { TableMaps } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Transaction } from "../../transaction/transaction.ts";

/** A log as if rows of some tables were not in it. */
export class WithoutTables {
  readonly #names: ReadonlySet<string>;
  readonly #maps = new TableMaps();

  /** `schema.table` each. */
  constructor(names: readonly string[]) {
    this.#names = new Set(names);
  }

  touches({ tables }: Transaction): boolean {
    if (this.#names.size === 0) return false;
    for (const table of tables) if (this.#names.has(table)) return true;
    return false;
  }

  /** Whether a transaction of rows changes nothing else. */
  isAllOf({ tables }: Transaction): boolean {
    for (const table of tables) if (!this.#names.has(table)) return false;
    return true;
  }

  /** Schemas of the tables that are left. */
  schemasOf({ tables }: Transaction): Set<string> {
    const schemas = new Set<string>();
    for (const table of tables) if (!this.#names.has(table)) schemas.add(table.slice(0, table.indexOf(".")));
    return schemas;
  }

  *events(events: Iterable<Buffer>, format: BinlogFormat): Generator<Buffer, undefined> {
    for (const event of events) {
      const type = eventType(event);
      const isMap = type === EVENT_TYPE.TABLE_MAP;
      const map = isMap
        ? this.#maps.add(event, format)
        : isRowsType(type)
          ? this.#maps.get(rowsTableId(event, format))
          : undefined;
      if (map === undefined || !this.#names.has(`${map.schema}.${map.table}`)) yield event;
    }
    return undefined;
  }
}
