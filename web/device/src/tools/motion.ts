import { type JsonObject, ToolError } from "@crab/device";

import { t } from "../strings/t.js";
import { type Hands, objectOf, pause, type PageTool, personMs } from "./page-tool.js";

/** Safari asks the person, and only after a tap. */
type AskingEvent = { requestPermission?: () => Promise<"granted" | "denied"> };

export const motion: PageTool = {
  name: "read_motion",
  icon: "motion",
  touch: true,
  secure: true,
  onByDefault: true,
  available: () => "DeviceMotionEvent" in window,
  offer: {
    description:
      "How the device is held (alpha, beta, gamma in degrees) and moved (acceleration in m/s², " +
      "turning in degrees per second): the last values and the strongest movement within a " +
      "moment of watching.",
    parameters: objectOf({
      duration_ms: {
        type: "integer",
        minimum: 100,
        maximum: 10_000,
        description: "How long to watch; default 1000",
      },
    }),
    timeoutMs: personMs,
    interactive: true,
    annotations: { read_only: true, idempotent: true },
  },
  async run(call, hands) {
    await askBrowser(call, hands);
    let seen: JsonObject = {};
    let strongest = 0;
    const onMotion = (event: DeviceMotionEvent) => {
      const { acceleration: free, accelerationIncludingGravity: all, rotationRate: turn } = event;
      if (free?.x != null)
        strongest = Math.max(strongest, Math.hypot(free.x, free.y ?? 0, free.z ?? 0));
      seen = {
        ...seen,
        ...(free?.x != null && { acceleration: vector(free) }),
        ...(all?.x != null && { acceleration_with_gravity: vector(all) }),
        ...(turn?.alpha != null && {
          turning: { alpha: turn.alpha, beta: turn.beta, gamma: turn.gamma },
        }),
      };
    };
    const onOrientation = (event: DeviceOrientationEvent) => {
      if (event.beta !== null)
        seen = {
          ...seen,
          orientation: {
            alpha: event.alpha,
            beta: event.beta,
            gamma: event.gamma,
            absolute: event.absolute,
          },
        };
    };
    addEventListener("devicemotion", onMotion);
    addEventListener("deviceorientation", onOrientation);
    await pause(Number(call.args["duration_ms"] ?? 1000), call.signal);
    removeEventListener("devicemotion", onMotion);
    removeEventListener("deviceorientation", onOrientation);
    if (Object.keys(seen).length === 0)
      throw new ToolError(
        "UNAVAILABLE",
        "this device has no motion sensors, or the browser hides them",
      );
    return {
      ...seen,
      strongest_acceleration: strongest,
      screen: screen.orientation?.type ?? "unknown",
    };
  },
};

async function askBrowser(call: Parameters<PageTool["run"]>[0], hands: Hands): Promise<void> {
  for (const event of [DeviceMotionEvent, DeviceOrientationEvent] as AskingEvent[]) {
    if (!event.requestPermission) continue;
    await hands.tap(call, t("tap.motion"));
    if ((await event.requestPermission()) !== "granted")
      throw new ToolError("FORBIDDEN", "the person does not let the page read the motion sensors");
  }
}

function vector(from: DeviceMotionEventAcceleration): JsonObject {
  return { x: from.x, y: from.y, z: from.z };
}
