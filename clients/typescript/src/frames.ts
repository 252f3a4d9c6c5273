/**
 * The frames between a device and a gateway. Incoming frames are read leniently: unknown fields are
 * ignored, a wrong type means absent. Source: docs/protocols/clawseed.md, sections 2 and 9.
 */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
export type JsonObject = { [member: string]: Json };

/** What a tool claims about itself; it can make the gateway more careful, never less. */
export interface Annotations {
  read_only?: boolean;
  destructive?: boolean;
  idempotent?: boolean;
  open_world?: boolean;
}

/** An element of `register_tools`. */
export interface ToolElement {
  name: string;
  description: string;
  parameters: JsonObject;
  timeout_ms?: number;
  max_timeout_ms?: number;
  max_concurrency?: number;
  output_schema?: JsonObject;
  interactive?: boolean;
  annotations?: Annotations;
}

/** What a device sends. */
export type ClientFrame =
  | {
      type: "connect";
      v: 1;
      device_name: string;
      instance: string;
      session_id?: string;
      capabilities: readonly string[];
    }
  | { type: "register_tools"; tools: ToolElement[]; replace?: true }
  | { type: "tool_result"; id: string; output: Json; success: true }
  | { type: "tool_result"; id: string; artifact: string; success: true }
  | { type: "tool_error"; id: string; error: string; success: false }
  | { type: "tool_call_accepted"; id: string }
  | { type: "tool_call_progress"; id: string; message?: string; progress?: number; total?: number }
  | ({ type: "presence" } & Presence)
  | { type: "get_registered_tools" };

/** A device's state, for its callers; what is left out is unknown. */
export interface Presence {
  /** Charge from 0 to 1. */
  battery?: number;
  charging?: boolean;
  /** The connection is metered, or saves data. */
  metered?: boolean;
  /** The page is in the foreground. */
  foreground?: boolean;
}

/** Who asks for a call, as the gateway proved it (`principal`) and as the caller says (`agent`). */
export interface Caller {
  principal: string;
  agent: string;
}

/** What a device receives; frames of chat turns are not for it. */
export type ServerFrame =
  | { type: "session_start"; sessionId: string }
  | { type: "connected"; terms: Terms }
  | { type: "tools_registered"; registered: number; rejected: Rejected[] }
  | { type: "registered_tools" }
  | {
      type: "tool_call_request";
      id: string;
      name: string;
      args: JsonObject;
      deadlineMs: number | undefined;
      caller: Caller;
      traceparent: string;
    }
  | { type: "tool_call_cancel"; id: string; reason: string }
  | { type: "result_acknowledged"; id: string }
  | { type: "error"; code: string; message: string };

/** A tool that the gateway rejected. */
export interface Rejected {
  name: string;
  code: string;
  message: string;
}

/** The capabilities and limits of this connection's gateway. */
export interface Terms {
  capabilities: ReadonlySet<string>;
  maxMessageBytes: number;
  graceMs: number;
  /** Undefined: results go into messages only. */
  uploads: UploadTerms | undefined;
}

/** How results that are too large for a message reach the gateway. */
export interface UploadTerms {
  path: string;
  /** Results up to this size are sent in the message. */
  inlineBytes: number;
  maxBytes: number;
}

/** A gateway without extensions. */
export const plainTerms: Terms = {
  capabilities: new Set(),
  maxMessageBytes: 8 << 20,
  graceMs: 15_000,
  uploads: undefined,
};

/** The extensions that this package speaks. */
export const capabilities = [
  "register_tools.replace",
  "unregister_tools",
  "tools_registered.rejected",
  "tool_call_request.deadline_ms",
  "tool_call_request.caller",
  "tool_call_request.traceparent",
  "tool_call_cancel",
  "tool_call_accepted",
  "tool_call_progress",
  "tool_call_resume",
  "artifacts",
  "presence",
] as const;

/** Reads one text message; undefined for what is no frame, or none that a device acts on. */
export function parseServerFrame(text: string): ServerFrame | undefined {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(root)) return undefined;
  const id = textOf(root, "id");
  switch (root["type"]) {
    case "session_start":
      return { type: "session_start", sessionId: textOf(root, "session_id") };
    case "connected":
      return { type: "connected", terms: termsOf(root) };
    case "tools_registered":
      return {
        type: "tools_registered",
        registered: numberOf(root, "registered") ?? 0,
        rejected: listOf(root, "rejected").map(rejectedOf),
      };
    case "registered_tools":
      return { type: "registered_tools" };
    case "tool_call_request": {
      const args = root["args"];
      return id === ""
        ? undefined
        : {
            type: "tool_call_request",
            id,
            name: textOf(root, "name"),
            args: isObject(args) ? args : {},
            deadlineMs: numberOf(root, "deadline_ms"),
            caller: callerOf(root["caller"]),
            traceparent: traceparentOf(root["traceparent"]),
          };
    }
    case "tool_call_cancel":
      return { type: "tool_call_cancel", id, reason: textOf(root, "reason") };
    case "result_acknowledged":
      return { type: "result_acknowledged", id };
    case "error":
      return {
        type: "error",
        code: textOf(root, "code") || "ERROR",
        message: textOf(root, "message"),
      };
    case undefined:
    default: // frames of a turn, and what later versions add
      return undefined;
  }
}

/** A `traceparent` of W3C Trace Context, version 00; "" for anything else. */
export function traceparentOf(value: unknown): string {
  return typeof value === "string" && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value)
    ? value
    : "";
}

function termsOf(frame: JsonObject): Terms {
  const listed = listOf(frame, "capabilities").filter((name) => typeof name === "string");
  return {
    capabilities: new Set(listed),
    maxMessageBytes: numberOf(frame, "max_message_bytes") ?? plainTerms.maxMessageBytes,
    graceMs: numberOf(frame, "grace_ms") ?? plainTerms.graceMs,
    uploads: uploadsOf(frame["artifacts"]),
  };
}

function uploadsOf(value: Json | undefined): UploadTerms | undefined {
  if (!isObject(value)) return undefined;
  const path = textOf(value, "upload");
  const inlineBytes = value["inline_bytes"];
  const maxBytes = numberOf(value, "max_bytes");
  return path.startsWith("/") && typeof inlineBytes === "number" && maxBytes !== undefined
    ? { path, inlineBytes, maxBytes }
    : undefined;
}

function rejectedOf(item: Json): Rejected {
  const from = isObject(item) ? item : {};
  return {
    name: textOf(from, "name"),
    code: textOf(from, "code"),
    message: textOf(from, "message"),
  };
}

function callerOf(value: Json | undefined): Caller {
  return isObject(value)
    ? { principal: textOf(value, "principal"), agent: textOf(value, "agent") }
    : { principal: "", agent: "" };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(frame: JsonObject, member: string): string {
  const value = frame[member];
  return typeof value === "string" ? value : "";
}

function numberOf(frame: JsonObject, member: string): number | undefined {
  const value = frame[member];
  return typeof value === "number" && value > 0 ? value : undefined;
}

function listOf(frame: JsonObject, member: string): Json[] {
  const value = frame[member];
  return Array.isArray(value) ? value : [];
}
