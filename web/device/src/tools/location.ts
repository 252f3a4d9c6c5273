import { objectOf, type PageTool, personMs } from "./page-tool.js";

export const location: PageTool = {
  name: "get_location",
  icon: "place",
  secure: true,
  onByDefault: true,
  permission: "geolocation",
  available: () => "geolocation" in navigator,
  offer: {
    description:
      "Where the device is now: latitude and longitude in degrees (WGS 84) and accuracy in " +
      "metres; altitude, heading and speed where known.",
    parameters: objectOf({
      high_accuracy: { type: "boolean", description: "Use satellites, slower; default false" },
      max_age_ms: {
        type: "integer",
        minimum: 0,
        maximum: 3_600_000,
        description: "An older position will do; default 0",
      },
    }),
    timeoutMs: personMs,
    interactive: true,
    annotations: { read_only: true, idempotent: true },
  },
};
