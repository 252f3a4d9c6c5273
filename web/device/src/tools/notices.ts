import { objectOf, type PageTool, personMs } from "./page-tool.js";

export const notification: PageTool = {
  name: "show_notification",
  icon: "bell",
  secure: true,
  onByDefault: true,
  permission: "notifications",
  available: () => "Notification" in window,
  offer: {
    description: "Shows a notification on the device: a title and a text of a few lines.",
    parameters: objectOf(
      {
        title: { type: "string", minLength: 1, maxLength: 120 },
        text: { type: "string", maxLength: 1000 },
      },
      ["title"],
    ),
    timeoutMs: personMs,
    interactive: true,
    annotations: { read_only: false, destructive: false },
  },
};

export const vibration: PageTool = {
  name: "vibrate",
  icon: "vibrate",
  touch: true,
  onByDefault: true,
  available: () => typeof navigator.vibrate === "function",
  offer: {
    description: "Makes the device vibrate: milliseconds of buzz, pause, buzz, and so on.",
    parameters: objectOf({
      pattern_ms: {
        type: "array",
        items: { type: "integer", minimum: 1, maximum: 2000 },
        minItems: 1,
        maxItems: 20,
        description: "Default [200]",
      },
    }),
    interactive: true,
    annotations: { read_only: false, destructive: false },
  },
};

export const wakeLock: PageTool = {
  name: "keep_screen_on",
  icon: "screen",
  secure: true,
  onByDefault: true,
  available: () => "wakeLock" in navigator,
  offer: {
    description:
      "Keeps the device's screen on for some minutes, or lets it sleep again (minutes 0). Holds " +
      "while the page is in front.",
    parameters: objectOf({ minutes: { type: "number", minimum: 0, maximum: 240 } }, ["minutes"]),
    timeoutMs: personMs,
    interactive: true,
    annotations: { read_only: false, destructive: false, idempotent: true },
  },
};

export const share: PageTool = {
  name: "share",
  icon: "share",
  secure: true,
  onByDefault: true,
  available: () => typeof navigator.share === "function",
  offer: {
    description:
      "Opens the device's share sheet with a text or a link; the person chooses where it goes, " +
      "or closes it.",
    parameters: objectOf({
      title: { type: "string", maxLength: 200 },
      text: { type: "string", maxLength: 10_000 },
      url: { type: "string", format: "uri", maxLength: 2000 },
    }),
    timeoutMs: personMs,
    maxConcurrency: 1,
    interactive: true,
    annotations: { read_only: false, open_world: true },
  },
};
