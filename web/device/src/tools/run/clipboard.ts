import type { ToolCall } from "@crab/device";

import { later } from "../../strings/later.js";
import { mostText } from "../clipboard.js";
import type { Hands } from "../page-tool.js";
import { toolError } from "./running.js";

export async function readClipboard(call: ToolCall, hands: Hands) {
  await hands.tap(call, later("tap.clipboard.read"));
  const text = await navigator.clipboard.readText().catch((thrown: unknown) => {
    throw toolError(thrown, "the clipboard");
  });
  hands.gave(call, { words: later("gave.characters", { n: text.length }) });
  return { text: text.slice(0, mostText), cut: text.length > mostText };
}

export async function writeClipboard(call: ToolCall, hands: Hands) {
  await hands.tap(call, later("tap.clipboard.write"));
  const text = String(call.args["text"]);
  await navigator.clipboard.writeText(text).catch((thrown: unknown) => {
    throw toolError(thrown, "the clipboard");
  });
  hands.gave(call, { words: later("gave.characters", { n: text.length }) });
  return { written: true };
}
