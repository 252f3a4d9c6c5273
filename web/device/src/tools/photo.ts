import { ToolError } from "@crab/device";

import { base64Of, objectOf, type PageTool, personMs, toolError } from "./page-tool.js";
import { toJpeg } from "./picture.js";

/** Results above 256 KiB do not belong into a frame; base64 makes three bytes four. */
const mostBytes = 180 << 10;
const framesToSettle = 8; // exposure and focus need a few

export const photo: PageTool = {
  name: "take_photo",
  icon: "camera",
  title: "Camera",
  hint: "One photo, scaled down",
  asks: "wants to take a photo",
  onByDefault: true,
  permission: "camera",
  available: () => navigator.mediaDevices?.getUserMedia !== undefined,
  offer: {
    description: "Takes one photo with the device's camera and gives it as a JPEG in base64, with its width and height in pixels.",
    parameters: objectOf({
      camera: { type: "string", enum: ["back", "front"], description: "Which one, if there are two; default back" },
      max_side: { type: "integer", minimum: 64, maximum: 4096, description: "Longest side in pixels; default 1280" },
    }),
    timeoutMs: personMs,
    maxConcurrency: 1,
    interactive: true,
    annotations: { read_only: true },
  },
  async run(call) {
    const facingMode = call.args["camera"] === "front" ? "user" : "environment";
    const maxSide = Number(call.args["max_side"] ?? 1280);
    let stream: MediaStream | undefined;
    const video = document.createElement("video");
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: { ideal: facingMode }, width: { ideal: maxSide } } });
      video.muted = video.playsInline = true;
      video.srcObject = stream;
      await video.play();
      await settled(video, call.signal);
      if (call.signal.aborted) throw new ToolError("CANCELLED", "the call is over");
      const { blob, width, height } = await toJpeg({ source: video, width: video.videoWidth, height: video.videoHeight }, maxSide, mostBytes);
      return { mime_type: "image/jpeg", width, height, bytes: blob.size, data_base64: await base64Of(blob) };
    } catch (thrown) {
      throw toolError(thrown, "the camera");
    } finally {
      for (const track of stream?.getTracks() ?? []) track.stop();
      video.srcObject = null;
    }
  },
};

/** Waits until the camera has shown a few pictures. */
async function settled(video: HTMLVideoElement, signal: AbortSignal): Promise<void> {
  for (let frames = 0; frames < framesToSettle && !signal.aborted; ++frames) {
    await new Promise<void>((done) => {
      signal.addEventListener("abort", () => done(), { once: true });
      if ("requestVideoFrameCallback" in video) video.requestVideoFrameCallback(() => done());
      else setTimeout(done, 50);
    });
  }
}
