import { base64Of } from "@crab/device/base64";

import type { Api, PasskeyAnswer, PasskeyAddition, PasskeyChallenge } from "../api";

const PATIENCE_MS = 60_000;
const ES256 = -7;
const ED_DSA = -8;

const textOf = (bytes: ArrayBuffer): string =>
  base64Of(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** What a passkey of this host answers to a new challenge; the person chooses which. */
export async function askPasskey(api: Api): Promise<PasskeyAnswer> {
  const { challenge, rp_id, known } = await api.passkeyChallenge();
  const credential = (await navigator.credentials.get({
    publicKey: {
      challenge: utf8(challenge),
      rpId: rp_id,
      userVerification: "required",
      timeout: PATIENCE_MS,
      // of whoever is signed in; else those that the authenticator knows for this host
      allowCredentials: (known ?? []).map((id) => ({ type: "public-key", id: bytesOf(id) })),
    },
  })) as PublicKeyCredential;
  const response = credential.response as AuthenticatorAssertionResponse;
  return {
    id: textOf(credential.rawId),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    ...(response.userHandle && { user_handle: textOf(response.userHandle) }),
  };
}

/** Has an authenticator make a passkey for whoever is signed in. */
export async function makePasskey(
  { challenge, rp_id, user, known }: PasskeyChallenge,
  label: string,
): Promise<PasskeyAddition> {
  const name = user?.name ?? "";
  const credential = (await navigator.credentials.create({
    publicKey: {
      challenge: utf8(challenge),
      rp: { id: rp_id, name: "crab" },
      user: { id: utf8(user?.id ?? ""), name, displayName: name },
      pubKeyCredParams: [ES256, ED_DSA].map((alg) => ({ type: "public-key", alg })),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      excludeCredentials: (known ?? []).map((id) => ({ type: "public-key", id: bytesOf(id) })),
      attestation: "none",
      timeout: PATIENCE_MS,
    },
  })) as PublicKeyCredential;
  const response = credential.response as AuthenticatorAttestationResponse;
  const key = response.getPublicKey();
  if (!key) throw new Error("this browser does not read the key of its authenticator");
  return {
    id: textOf(credential.rawId),
    client_data: textOf(response.clientDataJSON),
    authenticator_data: textOf(response.getAuthenticatorData()),
    public_key: textOf(key),
    label,
  };
}
