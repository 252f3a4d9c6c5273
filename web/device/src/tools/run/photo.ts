import { base64Of, type ToolCall, ToolError } from "@crab/device";

import type { Hands } from "../page-tool.js";
import { type Drawable, thumbnail, toJpeg } from "./picture.js";
import { fitsInline, sizeWords, toolError } from "./running.js";

const smallBytes = 180 << 10; // where the gateway takes no uploads: base64 makes three bytes four
const framesToSettle = 8; // exposure and focus need a few

export async function photo(call: ToolCall, hands: Hands) {
  const facingMode = call.args["camera"] === "front" ? "user" : "environment";
  const maxSide = Number(call.args["max_side"] ?? 1280);
  let stream: MediaStream | undefined;
  const video = document.createElement("video");
  try {
    stream = await navigator.mediaDevices.getUserMedia({
      video: { facingMode: { ideal: facingMode }, width: { ideal: maxSide } },
    });
    video.muted = video.playsInline = true;
    video.srcObject = stream;
    await video.play();
    await settled(video, call.signal);
    if (call.signal.aborted) throw new ToolError("CANCELLED", "the call is over");
    const picture = (await wholePicture(stream, video, maxSide)) ?? {
      source: video,
      width: video.videoWidth,
      height: video.videoHeight,
    };
    const { blob, width, height } = await toJpeg(
      picture,
      maxSide,
      call.uploads?.maxBytes ?? smallBytes,
    );
    hands.gave(call, {
      words: `${width} × ${height}, ${sizeWords(blob.size)}`,
      picture: thumbnail(picture),
    });
    if (!fitsInline(call, blob.size)) return blob;
    return {
      mime_type: "image/jpeg",
      width,
      height,
      bytes: blob.size,
      data_base64: base64Of(await blob.arrayBuffer()),
    };
  } catch (thrown) {
    throw toolError(thrown, "the camera");
  } finally {
    for (const track of stream?.getTracks() ?? []) track.stop();
    video.srcObject = null;
  }
}

/**
 * `ImageCapture` is not in the type library: it takes a photo with all the pixels of the sensor,
 * where a video has fewer.
 */
type Capture = new (track: MediaStreamTrack) => { takePhoto(): Promise<Blob> };

/**
 * The sensor's whole picture if more was asked for than the video shows and the browser can give
 * it.
 */
async function wholePicture(
  stream: MediaStream,
  video: HTMLVideoElement,
  maxSide: number,
): Promise<Drawable | undefined> {
  const Capture = (window as unknown as { ImageCapture?: Capture }).ImageCapture;
  const [track] = stream.getVideoTracks();
  if (!Capture || !track || maxSide <= Math.max(video.videoWidth, video.videoHeight))
    return undefined;
  try {
    const source = await createImageBitmap(await new Capture(track).takePhoto());
    return { source, width: source.width, height: source.height };
  } catch {
    return undefined; // then a frame of the video
  }
}

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
