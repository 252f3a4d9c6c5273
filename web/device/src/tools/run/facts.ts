import { type ToolCall, ToolError } from "@crab/device";

import { later } from "../../strings/later.js";
import { more } from "../facts.js";
import type { Hands } from "../page-tool.js";

export async function battery(call: ToolCall, hands: Hands) {
  const state = await more.getBattery?.();
  if (!state)
    throw new ToolError("UNAVAILABLE", "this browser does not tell the battery's state");
  const percent = Math.round(state.level * 100);
  hands.gave(call, {
    words: state.charging ? later("gave.charging", { percent }) : `${percent} %`,
  });
  return {
    percent,
    charging: state.charging,
    ...(state.charging &&
      Number.isFinite(state.chargingTime) && {
        minutes_to_full: Math.round(state.chargingTime / 60),
      }),
    ...(!state.charging &&
      Number.isFinite(state.dischargingTime) && {
        minutes_to_empty: Math.round(state.dischargingTime / 60),
      }),
  };
}

export function network(call: ToolCall, hands: Hands) {
  const { type, effectiveType, downlink, rtt, saveData } = more.connection ?? {};
  hands.gave(call, {
    words: [later(navigator.onLine ? "gave.online" : "gave.offline"), type ?? effectiveType]
      .filter(Boolean)
      .join(", "),
  });
  return {
    online: navigator.onLine,
    ...(type !== undefined && { kind: type }),
    ...(effectiveType !== undefined && { like: effectiveType }),
    ...(downlink !== undefined && { down_mbit_s: downlink }),
    ...(rtt !== undefined && { round_trip_ms: rtt }),
    ...(saveData !== undefined && { saves_data: saveData }),
  };
}
