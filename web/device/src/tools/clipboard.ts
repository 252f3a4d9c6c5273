import { objectOf, type PageTool, personMs, toolError } from "./page-tool.js";

const mostText = 64 << 10;

export const readClipboard: PageTool = {
  name: "read_clipboard",
  icon: "read",
  title: "Read the clipboard",
  hint: "The text that was copied last",
  asks: "wants to read your clipboard",
  onByDefault: false,
  permission: "clipboard-read",
  available: () => navigator.clipboard?.readText !== undefined,
  offer: {
    description:
      "The text on the device's clipboard. The page has to be in front, and the person has to tap.",
    parameters: objectOf({}),
    timeoutMs: personMs,
    interactive: true,
    annotations: { read_only: true },
  },
  async run(call, hands) {
    await hands.tap(call, "Let it read the clipboard");
    const text = await navigator.clipboard.readText().catch((thrown: unknown) => {
      throw toolError(thrown, "the clipboard");
    });
    hands.gave(call, { words: `${text.length} characters` });
    return { text: text.slice(0, mostText), cut: text.length > mostText };
  },
};

export const writeClipboard: PageTool = {
  name: "write_clipboard",
  icon: "write",
  title: "Write the clipboard",
  hint: "Puts a text there, ready to paste",
  asks: "wants to put a text on your clipboard",
  onByDefault: true,
  available: () => navigator.clipboard?.writeText !== undefined,
  offer: {
    description:
      "Puts a text on the device's clipboard, ready to be pasted. The page has to be in front, " +
      "and the person has to tap.",
    parameters: objectOf({ text: { type: "string", maxLength: mostText } }, ["text"]),
    timeoutMs: personMs,
    interactive: true,
    annotations: { read_only: false, destructive: true, idempotent: true },
  },
  async run(call, hands) {
    await hands.tap(call, "Copy the text");
    const text = String(call.args["text"]);
    await navigator.clipboard.writeText(text).catch((thrown: unknown) => {
      throw toolError(thrown, "the clipboard");
    });
    hands.gave(call, { words: `${text.length} characters` });
    return { written: true };
  },
};
