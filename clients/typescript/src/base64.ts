const atOnce = 0x8000; // arguments of one call of fromCharCode

/** Bytes as base64. */
export function base64Of(bytes: ArrayBuffer | Uint8Array): string {
  const all = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  let text = "";
  for (let at = 0; at < all.length; at += atOnce)
    text += String.fromCharCode(...all.subarray(at, at + atOnce));
  return btoa(text);
}
