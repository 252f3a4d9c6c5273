import { objectOf, type PageTool, personMs } from "./page-tool.js";

export const photo: PageTool = {
  name: "take_photo",
  icon: "camera",
  secure: true,
  onByDefault: true,
  permission: "camera",
  available: () => navigator.mediaDevices?.getUserMedia !== undefined,
  offer: {
    description:
      "Takes one photo with the device's camera and gives it as a JPEG: in base64 with its width " +
      "and height in pixels, or as an artifact to fetch if it is large.",
    parameters: objectOf({
      camera: {
        type: "string",
        enum: ["back", "front"],
        description: "Which one, if there are two; default back",
      },
      max_side: {
        type: "integer",
        minimum: 64,
        maximum: 8192,
        description:
          "Longest side in pixels; default 1280. The camera gives what it has, up to that",
      },
    }),
    timeoutMs: personMs,
    maxConcurrency: 1,
    interactive: true,
    annotations: { read_only: true },
  },
};
