import type { Json, JsonObject } from "../frames.js";
import {
  type CallContext,
  contextMembers,
  hasOwn,
  isJsonObject,
  longestCallMs,
  requestOrigins,
} from "../rtp.js";
import { parseStrict } from "./strict-json.js";

/** A request to run a tool, as far as its form and its values are right. */
export interface HostRequest {
  callId: string;
  tool: string;
  tenantId: string;
  args: JsonObject;
  timeoutMs: number | undefined;
  idempotencyKey: string | undefined;
  context: CallContext;
  traceparent: string;
}

/** Why a request is refused. `status`: 400 for its form, 200 for a value. */
export class BadRequest extends Error {
  constructor(
    readonly status: 400 | 200,
    message: string,
    /** As far as they could be read. */
    readonly callId = "",
    readonly tool = "",
  ) {
    super(message);
  }
}

const texts = ["version", "call_id", "tool_name", "tenant_id", "idempotency_key"];
const required = ["version", "call_id", "tool_name", "tenant_id"];
const mostTextBytes = 256;
const cancelReasons = ["cancelled", "timeout", "caller_gone", "shutdown"];

/** Throws a {@link BadRequest}. Source: docs/protocols/rtp.md, section 3, rows 5 and 6. */
export function parseCallRequest(bytes: Uint8Array): Omit<HostRequest, "traceparent"> {
  const body = parsedObject(bytes);
  const idOf = (name: string) => (typeof body[name] === "string" ? (body[name] as string) : "");
  const [callId, tool] = [idOf("call_id"), idOf("tool_name")];
  const wrong = (status: 400 | 200, message: string) =>
    new BadRequest(status, message, callId, tool);
  for (const [name, value] of Object.entries(body)) {
    const right =
      (texts.includes(name) && typeof value === "string") ||
      ((name === "args" || name === "context") && isJsonObject(value)) ||
      (name === "timeout_ms" && Number.isInteger(value));
    const what = isMember(name) ? "has a wrong type" : "unknown member; remove it";
    if (!right) throw wrong(400, `/${name}: ${what}`);
  }
  const context = hasOwn(body, "context") ? (body["context"] as JsonObject) : undefined;
  for (const [name, value] of Object.entries(context ?? {})) {
    if (!contextMembers.some(([, wire]) => wire === name))
      throw wrong(400, `/context/${name}: unknown member; remove it`);
    if (typeof value !== "string") throw wrong(400, `/context/${name}: must be a string`);
  }
  for (const name of required) if (isBlank(body, name)) throw wrong(200, missing(`/${name}`));
  if (body["version"] !== "v1") throw wrong(200, '/version: must be "v1"');
  if (!hasOwn(body, "args")) throw wrong(200, "/args: is required");
  if (!context) throw wrong(200, "/context: is required");
  for (const name of ["agent_id", "session_id"])
    if (isBlank(context, name)) throw wrong(200, missing(`/context/${name}`));
  for (const [object, names, at] of [
    [body, texts, ""],
    [context, Object.keys(context), "/context"],
  ] as const)
    for (const name of names)
      if (hasOwn(object, name) && Buffer.byteLength(String(object[name])) > mostTextBytes)
        throw wrong(200, `${at}/${name}: at most ${mostTextBytes} bytes`);
  const timeoutMs = hasOwn(body, "timeout_ms") ? (body["timeout_ms"] as number) : undefined;
  if (timeoutMs !== undefined && (timeoutMs < 1 || timeoutMs > longestCallMs))
    throw wrong(200, `/timeout_ms: must be 1 to ${longestCallMs}`);
  const origin = context["request_origin"];
  if (origin !== undefined && !requestOrigins.includes(origin as string))
    throw wrong(200, `/context/request_origin: must be one of ${requestOrigins.join(", ")}`);
  return {
    callId,
    tool,
    tenantId: body["tenant_id"] as string,
    args: body["args"] as JsonObject,
    timeoutMs,
    idempotencyKey: isBlank(body, "idempotency_key")
      ? undefined
      : (body["idempotency_key"] as string),
    context: contextOf(context),
  };
}

/** Throws a {@link BadRequest}. */
export function parseCancelRequest(bytes: Uint8Array): { tenantId: string; callId: string } {
  const body = parsedObject(bytes);
  const wrong = (message: string) => new BadRequest(400, message);
  for (const [name, value] of Object.entries(body)) {
    if (!["version", "tenant_id", "call_id", "reason"].includes(name))
      throw wrong(`/${name}: unknown member; remove it`);
    if (typeof value !== "string") throw wrong(`/${name}: must be a string`);
  }
  if (body["version"] !== "v1") throw wrong('/version: must be "v1"');
  for (const name of ["tenant_id", "call_id"])
    if (isBlank(body, name)) throw wrong(missing(`/${name}`));
  if (hasOwn(body, "reason") && !cancelReasons.includes(body["reason"] as string))
    throw wrong(`/reason: must be one of ${cancelReasons.join(", ")}`);
  return { tenantId: body["tenant_id"] as string, callId: body["call_id"] as string };
}

function parsedObject(bytes: Uint8Array): JsonObject {
  let body: Json;
  try {
    body = parseStrict(bytes);
  } catch (error) {
    throw new BadRequest(400, (error as Error).message);
  }
  if (!isJsonObject(body)) throw new BadRequest(400, "the request must be a JSON object");
  return body;
}

function contextOf(context: JsonObject): CallContext {
  const read: Partial<Record<keyof CallContext, string>> = {};
  for (const [member, name] of contextMembers)
    if (hasOwn(context, name)) read[member] = context[name] as string;
  return read as CallContext;
}

function isMember(name: string): boolean {
  return texts.includes(name) || ["args", "context", "timeout_ms"].includes(name);
}

function isBlank(object: JsonObject, name: string): boolean {
  return !hasOwn(object, name) || (object[name] as string).trim() === "";
}

function missing(pointer: string): string {
  return `${pointer}: required and not blank`;
}
