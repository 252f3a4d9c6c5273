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
};
