import type { SourcePosition } from "../transaction/transaction.ts";

/** Where in the source's binlog a snapshot stands; `gtids` is empty without GTIDs. */
export interface CopyPosition extends SourcePosition {
  gtids: string;
}

/** Whether `a` comes before `b` in one server's binlog: files by their number, which has six digits and then grows. */
export function comesBefore(a: SourcePosition, b: SourcePosition): boolean {
  const [numberA, numberB] = [fileNumber(a.file), fileNumber(b.file)];
  return numberA === numberB ? a.position < b.position : numberA < numberB;
}

export function oldest(positions: readonly CopyPosition[]): CopyPosition | undefined {
  return positions.reduce<CopyPosition | undefined>(
    (first, position) => (first === undefined || comesBefore(position, first) ? position : first),
    undefined,
  );
}

function fileNumber(file: string): number {
  return Number(/\.(\d+)$/.exec(file)?.[1] ?? 0);
}
