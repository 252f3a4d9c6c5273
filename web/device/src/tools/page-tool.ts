import {
  type JsonObject,
  type Tool,
  type ToolCall,
  ToolError,
  type ToolResult,
} from "@crab/device";

import type { SignName } from "../ui/signs.js";

/** The tools that some browser offers; their texts are in `strings/`, by these names. */
export type ToolName =
  | "get_location"
  | "keep_screen_on"
  | "read_battery"
  | "read_clipboard"
  | "read_motion"
  | "read_network"
  | "record_audio"
  | "share"
  | "show_notification"
  | "take_photo"
  | "vibrate"
  | "write_clipboard";

/** A tool of this page: what the gateway gets, and what the browser does. */
export interface PageTool {
  name: ToolName;
  icon: SignName;
  /** Browsers offer it to secure pages only. */
  secure?: true;
  /** For what is held in the hand. */
  touch?: true;
  onByDefault: boolean;
  /** The browser's own permission that it needs, by its name in the Permissions API. */
  permission?: string;
  /** Whether this browser can do it at all. */
  available(): boolean;
  offer: Omit<Tool, "name" | "handler">;
  run(call: ToolCall, hands: Hands): ToolResult | Promise<ToolResult>;
}

/** Why a tool cannot be offered here. */
export type Lack = "secure" | "touch" | "browser";

/** What is missing for a tool; undefined if nothing is. */
export function lackOf(
  tool: Pick<PageTool, "secure" | "touch" | "available">,
  here = { secure: isSecureContext, touch: matchMedia("(pointer: coarse)").matches },
): Lack | undefined {
  if (tool.touch && !here.touch) return "touch";
  if (tool.secure && !here.secure) return "secure";
  return tool.available() ? undefined : "browser";
}

/** What left the device with a call, for the person to see afterwards. */
export interface Given {
  /** A few words: `80 %, charging`. */
  words: string;
  /** A small picture of it, as a `data:` address. */
  picture?: string;
}

/** What a tool may need of the person while it runs. */
export interface Hands {
  /**
   * Waits for a tap where the browser wants one (sharing, the clipboard). Throws a ToolError for a
   * refusal.
   */
  tap(call: ToolCall, what: string): Promise<void>;
  /** Shows what the call was given. */
  gave(call: ToolCall, given: Given): void;
}

/** Longest wait for a person; the gateway is told. */
export const personMs = 60_000;

/** The schema of an arguments object without surprises. */
export function objectOf(
  properties: Record<string, JsonObject>,
  required: string[] = [],
): JsonObject {
  return {
    type: "object",
    properties,
    additionalProperties: false,
    ...(required.length > 0 && { required }),
  };
}

/** A browser's exception as an error for the agent. */
export function toolError(thrown: unknown, what: string): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const name = thrown instanceof Error || thrown instanceof DOMException ? thrown.name : "";
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return new ToolError(
        "FORBIDDEN",
        `the browser does not let the page use ${what}; the person has to allow it in the ` +
          "browser's settings",
      );
    case "NotFoundError":
    case "NotReadableError":
    case "OverconstrainedError":
      return new ToolError("UNAVAILABLE", `this device has no ${what} to use right now`);
    case "AbortError":
      return new ToolError("CANCELLED", `the person closed it`);
    default:
      return new ToolError(
        "TOOL_FAILED",
        `${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      );
  }
}

/** Waits `ms`, or until the call is over. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        done();
      },
      { once: true },
    );
  });
}

/** Whether bytes, as base64, are few enough for the message that answers `call`. */
export function fitsInline(call: ToolCall, bytes: number): boolean {
  return (
    call.uploads === undefined ||
    Math.ceil(bytes / 3) * 4 + roomForFacts <= call.uploads.inlineBytes
  );
}

const roomForFacts = 1 << 10; // the rest of a result beside its bytes

/** `214 KB`, `3.1 MB`. */
export function sizeWords(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.max(1, Math.round(bytes / 1000))} KB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
