import type { JsonObject } from "../frames.js";
import {
  type CallContext,
  callStatuses,
  contextMembers,
  isJsonObject,
  longestCallMs,
  parsedJson,
  textOr,
} from "../rtp.js";
import { CallError } from "./call-error.js";

/** A tool as the gateway lists it to this caller. */
export interface ToolInfo {
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema: JsonObject;
  timeoutMs: number;
  maxTimeoutMs: number;
  /** A repeat has no second effect. */
  idempotent: boolean;
  sideEffects: boolean;
}

/** What a tool answered. */
export interface CallAnswer<Result = JsonObject> {
  callId: string;
  result: Result;
  durationMs: number;
  logs: string[];
  /** The stored outcome of an earlier call with this id or key. */
  replayed: boolean;
}

/** What goes into a request, beside tool and arguments. */
export interface CallRequest {
  callId: string;
  tool: string;
  args: object;
  tenantId: string;
  context: Partial<CallContext>;
  idempotencyKey?: string | undefined;
  timeoutMs?: number | undefined;
}

const mostRequestBytes = 1 << 20;

/** The body of a call. Throws a {@link CallError} for what no gateway takes. */
export function toCallBody(request: CallRequest): string {
  const { callId, tool, tenantId, timeoutMs } = request;
  const wrong = (message: string) =>
    new CallError({ code: "INVALID_ARGS", message, callId, tool, status: "no_answer" });
  if (!isJsonObject(request.args))
    throw wrong("the arguments must be one object; nothing was sent");
  if (
    timeoutMs !== undefined &&
    (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > longestCallMs)
  )
    throw wrong(`timeoutMs: must be an integer from 1 to ${longestCallMs}; nothing was sent`);
  const context: JsonObject = { agent_id: "caller", session_id: callId };
  for (const [member, name] of contextMembers) {
    const value = request.context[member];
    if (value !== undefined && value !== "") context[name] = value;
  }
  const body = JSON.stringify({
    version: "v1",
    call_id: callId,
    tool_name: tool,
    tenant_id: tenantId,
    args: request.args,
    context,
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    ...(request.idempotencyKey !== undefined && { idempotency_key: request.idempotencyKey }),
  });
  if (Buffer.byteLength(body) > mostRequestBytes)
    throw wrong(`the request is larger than ${mostRequestBytes} bytes; nothing was sent`);
  return body;
}

/**
 * The answer in a body; throws a {@link CallError} for any but `ok`, and for a body that does not
 * belong to the request.
 */
export function readCallAnswer(
  text: string,
  http: { status: number; replayed: boolean },
  request: { callId: string; tool: string },
): CallAnswer {
  const { callId, tool } = request;
  const broken = (rule: string) =>
    new CallError({
      code: "INTERNAL",
      message: `the gateway's answer breaks a rule: ${rule}`,
      callId,
      tool,
      status: "no_answer",
      httpStatus: http.status,
    });
  const body = parsedJson(text);
  if (!isJsonObject(body) || !callStatuses.includes(textOr(body["status"], "")))
    throw http.status === 200
      ? broken("it is no response to a call")
      : refusal(text, http.status, request);
  const named = textOr(body["call_id"], "") !== "" || textOr(body["tool_name"], "") !== "";
  const mine = body["call_id"] === callId && body["tool_name"] === tool;
  // what could not be read of a request is "" in its answer
  if (body["version"] !== "v1" || (named ? !mine : http.status === 200))
    throw broken("it is not for this call");
  const duration = body["duration_ms"];
  const logs = body["logs"];
  if (body["status"] === "ok") {
    const result = body["result"] ?? {};
    if (http.status !== 200 || !isJsonObject(result)) throw broken("`ok` has no result");
    return {
      callId,
      result,
      durationMs: typeof duration === "number" ? duration : 0,
      logs: Array.isArray(logs) ? logs.filter((line) => typeof line === "string") : [],
      replayed: http.replayed,
    };
  }
  const error = isJsonObject(body["error"]) ? body["error"] : {};
  const details = error["details"];
  throw new CallError({
    code: textOr(error["code"], "") || "INTERNAL",
    message: textOr(error["message"], "") || "the gateway gave no reason",
    callId,
    tool,
    status: body["status"] as "error",
    httpStatus: http.status,
    details: isJsonObject(details) ? details : undefined,
    replayed: http.replayed,
  });
}

/** What an answer in no response schema says: a proxy's, or a refusal before a call was read. */
export function refusal(
  text: string,
  status: number,
  request: { callId: string; tool: string },
): CallError {
  const body = parsedJson(text);
  const said: JsonObject = isJsonObject(body) ? body : {};
  return new CallError({
    ...request,
    code: textOr(said["code"], "") || codeOf(status),
    message: textOr(said["error"], "") || `the gateway answered with HTTP status ${status}`,
    status: status === 429 || status === 503 ? "retryable_error" : "no_answer",
    httpStatus: status,
  });
}

export function readToolList(text: string): ToolInfo[] {
  const body = parsedJson(text);
  const tools = isJsonObject(body) ? body["tools"] : undefined;
  if (!Array.isArray(tools)) throw new TypeError("the gateway's list of tools cannot be read");
  return tools.filter(isJsonObject).map((tool) => ({
    name: textOr(tool["name"], ""),
    ...(typeof tool["title"] === "string" && { title: tool["title"] }),
    description: textOr(tool["description"], ""),
    inputSchema: isJsonObject(tool["input_schema"]) ? tool["input_schema"] : { type: "object" },
    outputSchema: isJsonObject(tool["output_schema"]) ? tool["output_schema"] : { type: "object" },
    timeoutMs: Number(tool["timeout_ms_default"]) || 0,
    maxTimeoutMs: Number(tool["timeout_ms_max"]) || 0,
    idempotent: tool["idempotent"] === true,
    sideEffects: tool["side_effects"] !== false,
  }));
}

function codeOf(status: number): string {
  const codes: Record<number, string> = {
    400: "INVALID_ARGS",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    408: "TIMEOUT",
    413: "OVERSIZE",
    429: "RATE_LIMITED",
    502: "DEPENDENCY_UNAVAILABLE",
    503: "DEPENDENCY_UNAVAILABLE",
    504: "TIMEOUT",
  };
  return codes[status] ?? "INTERNAL";
}
