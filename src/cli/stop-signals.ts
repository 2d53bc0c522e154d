const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Ctrl-C and its relatives: the first asks for a clean end, the second ends the process at once with `exitCode`.
 * @returns takes the handlers away again.
 */
export function onStopSignals(first: (signal: string) => void, second: () => void, exitCode: number): () => void {
  let isAsked = false;
  const heard = (signal: NodeJS.Signals): void => {
    if (!isAsked) {
      isAsked = true;
      first(signal);
      return;
    }
    second();
    process.exit(exitCode);
  };
  for (const signal of SIGNALS) process.on(signal, heard);
  return () => {
    for (const signal of SIGNALS) process.off(signal, heard);
  };
}
