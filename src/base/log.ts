/** Where components tell what they do. `observe/` writes it; tests collect it. Fields never hold passwords. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
}

export const silentLog: Log = { info: () => {}, warn: () => {} };
