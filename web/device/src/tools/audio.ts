import { base64Of } from "@crab/device";

import {
  fitsInline,
  objectOf,
  pause,
  type PageTool,
  personMs,
  sizeWords,
  toolError,
} from "./page-tool.js";

const mostSeconds = 120;
const bitsPerSecond = 32_000; // speech stays clear, and a minute has 240 KB

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
  async run(call, hands) {
    const seconds = Number(call.args["seconds"] ?? 5);
    let stream: MediaStream | undefined;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const recorder = new MediaRecorder(stream, { audioBitsPerSecond: bitsPerSecond });
      const parts: Blob[] = [];
      recorder.ondataavailable = (event) => parts.push(event.data);
      const stopped = new Promise<void>((done) => (recorder.onstop = () => done()));
      recorder.start();
      await pause(seconds * 1000, call.signal);
      recorder.stop();
      await stopped;
      const clip = new Blob(parts, { type: recorder.mimeType });
      hands.gave(call, { words: `${seconds} s, ${sizeWords(clip.size)}` });
      if (!fitsInline(call, clip.size)) return clip;
      return {
        mime_type: clip.type,
        seconds,
        bytes: clip.size,
        data_base64: base64Of(await clip.arrayBuffer()),
      };
    } catch (thrown) {
      throw toolError(thrown, "the microphone");
    } finally {
      for (const track of stream?.getTracks() ?? []) track.stop();
    }
  },
};
