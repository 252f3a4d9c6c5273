import { codeFromLink } from "@crab/device";
import { Button } from "@crab/web-shared/button";
import { Dialog } from "@crab/web-shared/dialog";
import { useEffect, useRef } from "preact/hooks";

import { later } from "../strings/later.js";

/** `BarcodeDetector` is not in the type library yet. */
type Detector = new (options: { formats: string[] }) => {
  detect(image: HTMLVideoElement): Promise<Array<{ rawValue: string }>>;
};

interface Props {
  /** A code, or undefined when the person stops. */
  readonly onFound: (code: string | undefined) => void;
  readonly onFailed: () => void;
}

export const canScan = (): boolean =>
  "BarcodeDetector" in window && navigator.mediaDevices?.getUserMedia !== undefined;

/** Looks through the camera until there is a code, or `until` is aborted. */
async function look(video: HTMLVideoElement, until: AbortSignal): Promise<string | undefined> {
  const { BarcodeDetector } = window as unknown as { BarcodeDetector: Detector };
  const detector = new BarcodeDetector({ formats: ["qr_code"] });
  const stream = await navigator.mediaDevices.getUserMedia({
    video: { facingMode: { ideal: "environment" } },
  });
  try {
    video.srcObject = stream;
    await video.play();
    while (!until.aborted) {
      for (const { rawValue } of await detector.detect(video)) {
        const code = codeFromLink(rawValue);
        if (code !== undefined) return code;
      }
      await new Promise((next) => requestAnimationFrame(next));
    }
    return undefined;
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
}

export function Scanner({ onFound, onFailed }: Props) {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    const stop = new AbortController();
    const found = (code: string | undefined) => stop.signal.aborted || onFound(code);
    const failed = () => stop.signal.aborted || onFailed();
    const start = setTimeout(() => {
      // the dialog draws what is in it once it is open
      if (video.current) look(video.current, stop.signal).then(found, failed);
    });
    return () => {
      clearTimeout(start);
      stop.abort();
    };
  }, []);
  return (
    <Dialog title={later("pair.scan")} noCross onClose={() => onFound(undefined)}>
      <video ref={video} class="scanner" playsInline muted aria-label={later("pair.scan.view")} />
      <div class="dialog-actions">
        <Button onPress={() => onFound(undefined)}>{later("pair.scan.stop")}</Button>
      </div>
    </Dialog>
  );
}
