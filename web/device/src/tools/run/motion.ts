import { type JsonObject, type ToolCall, ToolError } from "@crab/device";

import { later } from "../../strings/later.js";
import type { Hands } from "../page-tool.js";
import { pause } from "./running.js";

/** Safari asks the person, and only after a tap. */
type AskingEvent = { requestPermission?: () => Promise<"granted" | "denied"> };

export async function motion(call: ToolCall, hands: Hands) {
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
}

async function askBrowser(call: ToolCall, hands: Hands): Promise<void> {
  for (const event of [DeviceMotionEvent, DeviceOrientationEvent] as AskingEvent[]) {
    if (!event.requestPermission) continue;
    await hands.tap(call, later("tap.motion"));
    if ((await event.requestPermission()) !== "granted")
      throw new ToolError("FORBIDDEN", "the person does not let the page read the motion sensors");
  }
}

function vector(from: DeviceMotionEventAcceleration): JsonObject {
  return { x: from.x, y: from.y, z: from.z };
}
