import type { ToolCall } from "@crab/device";

import { later } from "../../strings/later.js";
import type { Hands } from "../page-tool.js";
import { toolError } from "./running.js";

export async function location(call: ToolCall, hands: Hands) {
  const options = {
    enableHighAccuracy: call.args["high_accuracy"] === true,
    maximumAge: Number(call.args["max_age_ms"] ?? 0),
    timeout: Math.max(1_000, call.deadline - Date.now() - 500),
  };
  const found = await new Promise<GeolocationPosition>((done, failed) =>
    navigator.geolocation.getCurrentPosition(done, failed, options),
  ).catch((failure: GeolocationPositionError) => {
    throw toolError(
      { 1: new DOMException("", "NotAllowedError"), 2: new DOMException("", "NotReadableError") }[
        failure.code
      ] ?? new Error("no position in time"),
      "location",
    );
  });
  const { latitude, longitude, accuracy, altitude, heading, speed } = found.coords;
  hands.gave(call, {
    words: later("gave.place", {
      place: `${latitude.toFixed(4)}, ${longitude.toFixed(4)}`,
      n: Math.round(accuracy),
    }),
  });
  return {
    latitude,
    longitude,
    accuracy_m: accuracy,
    at: new Date(found.timestamp).toISOString(),
    ...(altitude !== null && { altitude_m: altitude }),
    ...(heading !== null && !Number.isNaN(heading) && { heading_deg: heading }),
    ...(speed !== null && { speed_mps: speed }),
  };
}
