import { base64Of, objectOf, pause, type PageTool, personMs, toolError } from "./page-tool.js";

const bitsPerSecond = 24_000; // speech stays clear, and 30 s are 90 KB

export const audio: PageTool = {
  name: "record_audio",
  icon: "microphone",
  title: "Microphone",
  hint: "A clip of up to 30 seconds",
  asks: "wants to listen",
  onByDefault: false,
  permission: "microphone",
  available: () => navigator.mediaDevices?.getUserMedia !== undefined && "MediaRecorder" in window,
  offer: {
    description: "Records the microphone for some seconds and gives the clip in base64, with its media type.",
    parameters: objectOf({ seconds: { type: "number", minimum: 0.5, maximum: 30, description: "How long; default 5" } }),
    timeoutMs: personMs + 30_000,
    maxConcurrency: 1,
    interactive: true,
    annotations: { read_only: true },
  },
  async run(call) {
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
      return { mime_type: clip.type, seconds, bytes: clip.size, data_base64: await base64Of(clip) };
    } catch (thrown) {
      throw toolError(thrown, "the microphone");
    } finally {
      for (const track of stream?.getTracks() ?? []) track.stop();
    }
  },
};
