import { objectOf, type PageTool, personMs } from "./page-tool.js";

const mostSeconds = 120;

export const audio: PageTool = {
  name: "record_audio",
  icon: "microphone",
  secure: true,
  onByDefault: false,
  permission: "microphone",
  available: () => navigator.mediaDevices?.getUserMedia !== undefined && "MediaRecorder" in window,
  offer: {
    description:
      "Records the microphone for some seconds and gives the clip with its media type: in " +
      "base64, or as an artifact to fetch if it is long.",
    parameters: objectOf({
      seconds: {
        type: "number",
        minimum: 0.5,
        maximum: mostSeconds,
        description: "How long; default 5",
      },
    }),
    timeoutMs: personMs + mostSeconds * 1000,
    maxConcurrency: 1,
    interactive: true,
    annotations: { read_only: true },
  },
};
