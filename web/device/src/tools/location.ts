import { t } from "../strings/t.js";
import { objectOf, type PageTool, personMs, toolError } from "./page-tool.js";

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
  async run(call, hands) {
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
      words: t("gave.place", {
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
  },
};
