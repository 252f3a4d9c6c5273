/** A picture that can be drawn, and its size. */
export interface Drawable {
  source: CanvasImageSource;
  width: number;
  height: number;
}

const thumbnailSide = 112; // twice what the list shows

/** A JPEG of at most `maxBytes`: quality goes down first, then size. */
export async function toJpeg(
  picture: Drawable,
  maxSide: number,
  maxBytes: number,
): Promise<{ blob: Blob; width: number; height: number }> {
  for (let side = maxSide; ; side *= 0.75) {
    const canvas = drawn(picture, side);
    for (const quality of [0.88, 0.75, 0.6]) {
      const blob = await new Promise<Blob | null>((done) =>
        canvas.toBlob(done, "image/jpeg", quality),
      );
      if (!blob) throw new Error("the browser cannot make a JPEG");
      if (blob.size <= maxBytes) return { blob, width: canvas.width, height: canvas.height };
    }
  }
}

/** A small one as a `data:` address. */
export function thumbnail(picture: Drawable): string {
  return drawn(picture, thumbnailSide).toDataURL("image/jpeg", 0.7);
}

/** The picture with no side longer than `maxSide` pixels. */
function drawn(picture: Drawable, maxSide: number): HTMLCanvasElement {
  const scale = Math.min(1, maxSide / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d")?.drawImage(picture.source, 0, 0, canvas.width, canvas.height);
  return canvas;
}
