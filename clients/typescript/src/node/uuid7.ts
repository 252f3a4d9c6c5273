import { randomBytes } from "node:crypto";

/** A UUID of version 7: sorted by the time it was made (RFC 9562). */
export function uuid7(now = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [0, 8, 12, 16, 20]
    .map((begin, i, all) => hex.slice(begin, all[i + 1] ?? 32))
    .join("-");
}
