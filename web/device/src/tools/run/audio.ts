import { base64Of, type ToolCall } from "@crab/device";

import type { Hands } from "../page-tool.js";
import { fitsInline, pause, sizeWords, toolError } from "./running.js";

const bitsPerSecond = 32_000; // speech stays clear, and a minute has 240 KB

export async function audio(call: ToolCall, hands: Hands) {
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
}
