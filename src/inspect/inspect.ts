import { closeSync, openSync } from "node:fs";
import { systemReason } from "../base/system-error.ts";
import type { Schema } from "../schema/dump.ts";
import type { BinlogInput } from "./input/input.ts";
import type { InspectReport } from "./report.ts";
import { schemaKeys } from "./scan/schema-keys.ts";
import { Scanner } from "./scan/scanner.ts";
import { UnitScan } from "./scan/unit-scan.ts";
import { unitsOf } from "./scan/units.ts";
import { LogSummary } from "./summary/log-summary.ts";

export interface InspectOptions {
  schema?: Schema;
  /** Check each event's CRC. Default false. */
  verifyChecksums?: boolean;
  /** Bytes scanned since the last call. */
  onBytes?: (bytes: number) => void;
}

/** All that can be said of these files. Never throws for what is in them: see `faults`. */
export async function inspect(inputs: readonly BinlogInput[], options: InspectOptions = {}): Promise<InspectReport> {
  const summary = new LogSummary();
  const scanner = new Scanner({
    schema: options.schema === undefined ? undefined : schemaKeys(options.schema),
    verifyChecksums: options.verifyChecksums ?? false,
  });
  const unitScan = new UnitScan(scanner);
  for (const [number, input] of inputs.entries()) {
    if (input.plainPath === undefined) continue;
    let descriptor: number;
    try {
      descriptor = openSync(input.plainPath, "r");
    } catch (error) {
      summary.fault({ file: input.name, offset: 0, reason: `it cannot be opened: ${systemReason(error)}` });
      continue;
    }
    try {
      for (const unit of unitsOf(descriptor)) {
        summary.add(unitScan.scan(descriptor, { number, name: input.name }, unit));
        options.onBytes?.(unit.to - unit.from);
      }
    } finally {
      closeSync(descriptor);
    }
  }
  return summary.report(inputs, { parallelism: undefined, checksumsVerified: options.verifyChecksums ?? false });
}
