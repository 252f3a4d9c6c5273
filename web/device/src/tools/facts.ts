import { ToolError } from "@crab/device";

import { t } from "../strings/t.js";
import { objectOf, type PageTool } from "./page-tool.js";

/** Missing in the type library. */
interface Battery extends EventTarget {
  level: number;
  charging: boolean;
  chargingTime: number;
  dischargingTime: number;
}
interface Connection extends EventTarget {
  type?: string;
  effectiveType?: string;
  downlink?: number;
  rtt?: number;
  saveData?: boolean;
}
export const more = globalThis.navigator as Navigator & {
  getBattery?: () => Promise<Battery>;
  connection?: Connection;
};

export const battery: PageTool = {
  name: "read_battery",
  icon: "battery",
  secure: true,
  onByDefault: true,
  available: () => more.getBattery !== undefined,
  offer: {
    description:
      "The battery's charge in percent, whether it is charging, and the minutes until full or " +
      "empty where known.",
    parameters: objectOf({}),
    interactive: true,
    annotations: { read_only: true, idempotent: true },
  },
  async run(call, hands) {
    const state = await more.getBattery?.();
    if (!state)
      throw new ToolError("UNAVAILABLE", "this browser does not tell the battery's state");
    const percent = Math.round(state.level * 100);
    hands.gave(call, {
      words: state.charging ? t("gave.charging", { percent }) : `${percent} %`,
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
  },
};

export const network: PageTool = {
  name: "read_network",
  icon: "network",
  onByDefault: true,
  available: () => "onLine" in navigator,
  offer: {
    description:
      "How the device is connected, as far as the browser says: kind, estimated speed in Mbit/s, " +
      "round trip in ms, whether it saves data.",
    parameters: objectOf({}),
    interactive: true,
    annotations: { read_only: true, idempotent: true },
  },
  run(call, hands) {
    const { type, effectiveType, downlink, rtt, saveData } = more.connection ?? {};
    hands.gave(call, {
      words: [t(navigator.onLine ? "gave.online" : "gave.offline"), type ?? effectiveType]
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
  },
};
