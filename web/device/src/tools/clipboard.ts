import { objectOf, type PageTool, personMs } from "./page-tool.js";

export const mostText = 64 << 10;

export const readClipboard: PageTool = {
  name: "read_clipboard",
  icon: "read",
  secure: true,
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
};

export const writeClipboard: PageTool = {
  name: "write_clipboard",
  icon: "write",
  secure: true,
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
};
