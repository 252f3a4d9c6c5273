import type { Json, JsonObject } from "./frames.js";

/** In what context a call is made, as the caller claims. docs/protocols/rtp.md, section 2. */
export interface CallContext {
  agentId: string;
  sessionId: string;
  platform?: string;
  channelId?: string;
  actorId?: string;
  isolationKey?: string;
  traceId?: string;
  requestOrigin?: "agent_turn" | "cron" | "operator" | "system";
}

/** Members of {@link CallContext} as they are called on the wire. */
export const contextMembers: ReadonlyArray<readonly [keyof CallContext, string]> = [
  ["agentId", "agent_id"],
  ["sessionId", "session_id"],
  ["platform", "platform"],
  ["channelId", "channel_id"],
  ["actorId", "actor_id"],
  ["isolationKey", "isolation_key"],
  ["traceId", "trace_id"],
  ["requestOrigin", "request_origin"],
];

export const requestOrigins: readonly string[] = ["agent_turn", "cron", "operator", "system"];

/** How a call ended. */
export type CallStatus = "ok" | "error" | "retryable_error" | "timeout";

export const callStatuses: readonly string[] = ["ok", "error", "retryable_error", "timeout"];

export const longestCallMs = 120_000;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the object has this member itself, whatever its name. */
export function hasOwn(object: object, name: string): boolean {
  return Object.prototype.hasOwnProperty.call(object, name);
}

export function textOr(value: Json | undefined, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

/** Undefined for what is no JSON. */
export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
