import { closeSync, openSync } from "node:fs";
import { systemReason } from "../base/system-error.ts";
import type { Schema } from "../schema/dump.ts";
import type { BinlogInput } from "./input/input.ts";
import { type Bound, type Range, RangeFilter } from "./input/range.ts";
import type { InspectReport } from "./report.ts";
import { schemaKeys } from "./scan/schema-keys.ts";
import { Scanner } from "./scan/scanner.ts";
import { scanStream } from "./scan/stream-scan.ts";
import { UnitScan } from "./scan/unit-scan.ts";
import { unitsOf } from "./scan/units.ts";
import { LogSummary } from "./summary/log-summary.ts";

export interface InspectOptions {
  /** Only this part of the log. */
  range?: Range;
  /** Names and keys of tables that the log does not tell. */
  schema?: Schema;
  /** Check each event's CRC. Default false. */
  verifyChecksums?: boolean;
  /** Bytes scanned since the last call. */
  onBytes?: (bytes: number) => void;
  /** The bound of the range that names something which never came. */
  onMissing?: (bound: Bound) => void;
}

/** All that can be said of these files, read once. Never throws for what is in them: see `faults`. */
export async function inspect(inputs: readonly BinlogInput[], options: InspectOptions = {}): Promise<InspectReport> {
  const summary = new LogSummary();
  const names = inputs.map(({ name }) => name);
  const range = options.range === undefined ? undefined : new RangeFilter(options.range, names);
  const { schema, verifyChecksums = false, onBytes = () => {} } = options;
  const scanner = new Scanner({ schema: schema && schemaKeys(schema), verifyChecksums, range });
  const unitScan = new UnitScan(scanner);
  for (const [number, input] of inputs.entries()) {
    if (range?.isOver === true) break;
    if (range?.skipsFile(input.name) === true) continue;
    if (input.plainPath === undefined) {
      for await (const part of scanStream(scanner, input, number, onBytes)) summary.add(part);
    } else {
      scanPlain(input.plainPath, { number, name: input.name });
    }
  }
  if (range?.missing !== undefined) options.onMissing?.(range.missing);
  return summary.report(inputs, { parallelism: undefined, checksumsVerified: verifyChecksums });

  function scanPlain(path: string, file: { number: number; name: string }): void {
    let descriptor: number;
    try {
      descriptor = openSync(path, "r");
    } catch (error) {
      summary.fault({ file: file.name, offset: 0, reason: `it cannot be opened: ${systemReason(error)}` });
      return;
    }
    try {
      for (const unit of unitsOf(descriptor)) {
        summary.add(unitScan.scan(descriptor, file, unit));
        onBytes(unit.to - unit.from);
        if (scanner.isOver || scanner.isHopeless) break;
      }
    } finally {
      closeSync(descriptor);
    }
  }
}
