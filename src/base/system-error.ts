import { getSystemErrorMap } from "node:util";

/** `no such file or directory` instead of Node's text, which also says the call and the path: whoever tells it has named the path. */
export function systemReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errno } = error as NodeJS.ErrnoException;
  return (errno === undefined ? undefined : getSystemErrorMap().get(errno)?.[1]) ?? error.message;
}
