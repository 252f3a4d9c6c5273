import { objectOf, type PageTool, personMs } from "./page-tool.js";

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
};
