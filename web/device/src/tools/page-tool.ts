import type { JsonObject, Tool, ToolCall, ToolResult } from "@crab/device";

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

/** A tool of this page, as the gateway and the person see it; `run/` has what the browser does. */
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

/** What the browser does for a call. */
export type Run = (call: ToolCall, hands: Hands) => ToolResult | Promise<ToolResult>;

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
