import { ToolError } from "@crab/device";
import { locale } from "@crab/web-shared/t";

import { t } from "../strings/t.js";
import { objectOf, type PageTool, personMs, toolError } from "./page-tool.js";

/** Shows a notification; through the service worker where the browser requires it. */
export async function notify(title: string, options: NotificationOptions): Promise<void> {
  const worker = await navigator.serviceWorker?.getRegistration();
  if (worker) await worker.showNotification(title, options);
  else new Notification(title, options);
}

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
  async run(call, hands) {
    if (Notification.permission === "default") {
      await hands.tap(call, t("tap.notice"));
      await Notification.requestPermission();
    }
    if (Notification.permission !== "granted")
      throw new ToolError(
        "FORBIDDEN",
        "the browser does not let the page show notifications; the person has to allow it in " +
          "the browser's settings",
      );
    await notify(String(call.args["title"]), {
      body: String(call.args["text"] ?? ""),
      icon: "./icon-192.png",
      tag: call.id,
    });
    hands.gave(call, { words: String(call.args["title"]) });
    return { shown: true };
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
  run(call) {
    const pattern = Array.isArray(call.args["pattern_ms"])
      ? call.args["pattern_ms"].map(Number)
      : [200];
    if (!navigator.vibrate(pattern))
      throw new ToolError(
        "UNAVAILABLE",
        "the browser does not let the page vibrate until somebody has touched it",
      );
    return { vibrated: true };
  },
};

let lock: WakeLockSentinel | undefined;
let awakeUntil = 0;
let release: ReturnType<typeof setTimeout> | undefined;

/** The browser releases the lock when the page is hidden; it is requested again afterwards. */
async function keepAwake(): Promise<void> {
  if (!document.hidden && Date.now() < awakeUntil)
    lock = await navigator.wakeLock.request("screen");
}
globalThis.document?.addEventListener("visibilitychange", () => void keepAwake().catch(() => {}));

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
  async run(call, hands) {
    const minutes = Number(call.args["minutes"]);
    clearTimeout(release);
    await lock?.release();
    lock = undefined;
    awakeUntil = Date.now() + minutes * 60_000;
    if (minutes === 0) return { on: false };
    await keepAwake().catch((thrown: unknown) => {
      awakeUntil = 0;
      throw toolError(thrown, "the screen");
    });
    release = setTimeout(() => void lock?.release(), minutes * 60_000);
    const until = new Date(awakeUntil);
    hands.gave(call, {
      words: t("gave.until", {
        at: until.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" }),
      }),
    });
    return { on: true, until: until.toISOString() };
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
  async run(call, hands) {
    const { title, text, url } = call.args;
    await hands.tap(call, t("tap.share"));
    const what = {
      ...(title && { title: String(title) }),
      ...(text && { text: String(text) }),
      ...(url && { url: String(url) }),
    };
    await navigator.share(what).catch((thrown: unknown) => {
      throw toolError(thrown, "the share sheet");
    });
    return { shared: true };
  },
};
