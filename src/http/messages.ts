import { z } from "zod";
import { WORKERS_MAX } from "../engine/engine.ts";
import { ERROR_CODES, ReplicationError, type ErrorCode, type ErrorDetails } from "../base/error.ts";

/** What the control API says besides statuses. Requests: `GET /status`, `POST /stop`, `POST /pause` with a PauseRequest or nothing, `POST /resume`, `POST /workers` with a WorkersRequest. */

const PauseRequest = z.strictObject({
  /**
   * Pause once exactly the transactions that end at or before this place are applied; without it, after the ones at work. `gtids` is what the source has
   * executed there, where that is known.
   */
  position: z
    .strictObject({ file: z.string().min(1), position: z.int().min(4), gtids: z.string().optional() })
    .optional(),
  /** The answer stays open after its first line, and the engine resumes by itself when the asker's connection ends. */
  whileConnected: z.boolean().default(false),
});

export type PauseRequest = z.input<typeof PauseRequest>;

/** @throws ReplicationError CONFIG */
export function parsePauseRequest(body: string): z.output<typeof PauseRequest> {
  const result = PauseRequest.safeParse(body === "" ? {} : parseJson(body));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new ReplicationError("CONFIG", `the request to pause is wrong: ${issue?.path.join(".")}: ${issue?.message}`, {
    hint: 'send nothing, or {"position": {"file": "binlog.000001", "position": 4711}}',
  });
}

const WorkersRequest = z.strictObject({ count: z.int().min(1).max(WORKERS_MAX) });

export type WorkersRequest = z.input<typeof WorkersRequest>;

/** @throws ReplicationError CONFIG */
export function parseWorkersRequest(body: string): WorkersRequest {
  const result = WorkersRequest.safeParse(parseJson(body));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") ?? "";
  throw new ReplicationError(
    "CONFIG",
    `the request for workers is wrong: ${where}${where === "" ? "" : ": "}${issue?.message}`,
    {
      hint: `send {"count": 8}, a whole number from 1 to ${WORKERS_MAX}`,
    },
  );
}

/** An error as the control API carries it. */
export interface ErrorMessage {
  error: { code: ErrorCode; message: string; where: ErrorDetails["where"]; hint: string | undefined };
}

export function errorMessage(error: unknown): ErrorMessage {
  if (error instanceof ReplicationError) {
    return { error: { code: error.code, message: error.message, where: error.where, hint: error.hint } };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { error: { code: "DEFECT", message, where: {}, hint: undefined } };
}

/** The error that an answer carries, if it carries one. */
export function readErrorMessage(answer: unknown): ReplicationError | undefined {
  if (typeof answer !== "object" || answer === null || !("error" in answer)) return undefined;
  const { code, message, where, hint } = (answer as ErrorMessage).error;
  return new ReplicationError(code in ERROR_CODES ? code : "DEFECT", message, {
    ...(where === undefined ? {} : { where }),
    ...(hint === undefined ? {} : { hint }),
  });
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
