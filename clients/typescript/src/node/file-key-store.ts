import { rmSync } from "node:fs";

import { base64Of } from "../base64.js";
import type { KeyStore } from "../device-key.js";
import { readPrivateFile, writePrivateFile } from "./private-file.js";

const algorithm = { name: "ECDSA", namedCurve: "P-256" };

/**
 * Keeps a device key in a file that its owner alone may read (mode 0600), replaced in one step.
 * Whoever can read the file has the key.
 */
export function fileKeyStore(path: string): KeyStore {
  return {
    needsExport: true,
    load: async () => {
      const text = textOf(path);
      if (text === undefined) return undefined;
      try {
        const { key_id: keyId, private_key, public_key } = JSON.parse(text) as Stored;
        if (typeof keyId !== "string") throw new TypeError("it has no key_id");
        const { subtle } = globalThis.crypto;
        const privateKey = await subtle.importKey("pkcs8", bytesOf(private_key), algorithm, false, [
          "sign",
        ]);
        const publicKey = await subtle.importKey("spki", bytesOf(public_key), algorithm, true, [
          "verify",
        ]);
        return { keyId, pair: { privateKey, publicKey } };
      } catch {
        throw new Error(`${path} holds no device key; move it away and pair again`);
      }
    },
    save: async ({ keyId, pair }) => {
      const { subtle } = globalThis.crypto;
      const stored: Stored = {
        key_id: keyId,
        private_key: base64Of(await subtle.exportKey("pkcs8", pair.privateKey)),
        public_key: base64Of(await subtle.exportKey("spki", pair.publicKey)),
      };
      writePrivateFile(path, JSON.stringify(stored));
    },
    forget: async () => rmSync(path, { force: true }),
  };
}

interface Stored {
  key_id: string;
  private_key: string;
  public_key: string;
}

function textOf(path: string): string | undefined {
  try {
    return readPrivateFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(base64, "base64"));
}
