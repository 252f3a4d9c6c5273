import { type ErrorCode } from "../error-codes.js";
import type { Json, JsonObject } from "../frames.js";
import type { CallStatus } from "../rtp.js";

/** How a call ended, as it is stored and given to repeats. */
export interface Outcome {
  status: CallStatus;
  result?: JsonObject;
  error?: { code: string; message: string; details?: JsonObject; retryable: boolean };
  logs?: string[];
  durationMs: number;
}

// where the code on the wire is another one; spec/errors.json, member `rtp`
const wireCodes: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: "INVALID_ARGS",
  UNAUTHENTICATED: "UNAUTHORIZED",
  AUTH_REQUIRED: "FORBIDDEN",
  APPROVAL_REQUIRED: "FORBIDDEN",
  POLICY_UNENFORCEABLE: "FORBIDDEN",
  WORKTREE_NOT_BOUND: "FORBIDDEN",
  ALREADY_IN_PROGRESS: "CONFLICT",
  UNAVAILABLE: "DEPENDENCY_UNAVAILABLE",
  WALL_TIMEOUT: "TIMEOUT",
  CPU_BUDGET_EXCEEDED: "TOOL_FAILED",
};

/** The code as RTP has it. */
export function wireCode(code: ErrorCode): string {
  return wireCodes[code] ?? code;
}

/** Codes that promise that the call had no effect. */
const harmless: readonly ErrorCode[] = ["RATE_LIMITED", "UNAVAILABLE", "ALREADY_IN_PROGRESS"];

export function failed(code: ErrorCode, message: string, details?: JsonObject): Outcome {
  const retryable = harmless.includes(code);
  return {
    status: code === "TIMEOUT" ? "timeout" : retryable ? "retryable_error" : "error",
    error: { code: wireCode(code), message, retryable, ...(details && { details }) },
    durationMs: 0,
  };
}

export function busy(message: string): Outcome {
  return failed("RATE_LIMITED", message, { retry_after_ms: 1_000 });
}

/** The body of an answer to a call. */
export function toResponse(callId: string, tool: string, outcome: Outcome): string {
  return JSON.stringify({
    version: "v1",
    call_id: callId,
    tool_name: tool,
    status: outcome.status,
    duration_ms: outcome.durationMs,
    ...(outcome.status === "ok" ? { result: outcome.result ?? {} } : { error: outcome.error }),
    ...(outcome.logs && outcome.logs.length > 0 && { logs: outcome.logs }),
  });
}

/** What a handler returned, as the object that a result is on the wire. */
export async function resultOf(value: Json | Blob | Uint8Array | undefined): Promise<JsonObject> {
  if (value instanceof Uint8Array) return inlined(value, "application/octet-stream");
  if (typeof Blob !== "undefined" && value instanceof Blob)
    return inlined(new Uint8Array(await value.arrayBuffer()), value.type);
  if (value === undefined) return {};
  if (typeof value === "string") return { text: value };
  if (typeof value !== "object" || value === null || Array.isArray(value)) return { value };
  return value as JsonObject;
}

function inlined(bytes: Uint8Array, type: string): JsonObject {
  return {
    content_type: type || "application/octet-stream",
    base64: Buffer.from(bytes).toString("base64"),
  };
}
