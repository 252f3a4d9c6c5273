import { type ToolCall, ToolError } from "@crab/device";
import { locale } from "@crab/web-shared/t";

import { notify } from "../../notify.js";
import { later } from "../../strings/later.js";
import type { Hands } from "../page-tool.js";
import { toolError } from "./running.js";

export async function notification(call: ToolCall, hands: Hands) {
  if (Notification.permission === "default") {
    await hands.tap(call, later("tap.notice"));
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
}

export function vibration(call: ToolCall) {
  const pattern = Array.isArray(call.args["pattern_ms"])
    ? call.args["pattern_ms"].map(Number)
    : [200];
  if (!navigator.vibrate(pattern))
    throw new ToolError(
      "UNAVAILABLE",
      "the browser does not let the page vibrate until somebody has touched it",
    );
  return { vibrated: true };
}

let lock: WakeLockSentinel | undefined;
let awakeUntil = 0;
let release: ReturnType<typeof setTimeout> | undefined;

/** The browser releases the lock when the page is hidden; it is requested again afterwards. */
async function keepAwake(): Promise<void> {
  if (!document.hidden && Date.now() < awakeUntil)
    lock = await navigator.wakeLock.request("screen");
}
globalThis.document?.addEventListener("visibilitychange", () => void keepAwake().catch(() => {}));

export async function wakeLock(call: ToolCall, hands: Hands) {
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
    words: later("gave.until", {
      at: until.toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit" }),
    }),
  });
  return { on: true, until: until.toISOString() };
}

export async function share(call: ToolCall, hands: Hands) {
  const { title, text, url } = call.args;
  await hands.tap(call, later("tap.share"));
  const what = {
    ...(title && { title: String(title) }),
    ...(text && { text: String(text) }),
    ...(url && { url: String(url) }),
  };
  await navigator.share(what).catch((thrown: unknown) => {
    throw toolError(thrown, "the share sheet");
  });
  return { shared: true };
}
