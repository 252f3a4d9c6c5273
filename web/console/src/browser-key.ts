import { base64Of } from "@crab/device/base64";
import { browserKeyStore } from "@crab/device/browser-key-store";

import type { Api, Proof } from "./api";

/**
 * This browser's own key, for a console that is reached from elsewhere (`listen.console`). Scripts
 * of this origin can use it and nobody can copy it, so a stolen session does not have it.
 */
const store = browserKeyStore("crab-console-key");
const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

export const hasKey = async (): Promise<boolean> => (await store.load()) !== undefined;
export const forgetKey = (): Promise<void> => store.forget();

/** Makes a key and has the gateway take it for a pairing code. */
export async function pairKey(api: Api, code: string): Promise<void> {
  const pair = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  const publicKey = base64Of(await crypto.subtle.exportKey("spki", pair.publicKey));
  await store.save({ keyId: await api.pairKey(code, publicKey), pair });
}

/** A new challenge, signed; nothing when this browser has no key. */
export async function proof(api: Api): Promise<Proof | undefined> {
  const key = await store.load();
  if (!key) return undefined;
  const nonce = await api.challenge();
  const text = new TextEncoder().encode(`crab-device-v1\n${key.keyId}\n${nonce}`);
  const signature = base64Of(await crypto.subtle.sign(algorithm, key.pair.privateKey, text));
  return { key_id: key.keyId, nonce, signature };
}
