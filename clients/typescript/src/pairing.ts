import { GatewayAddress } from "./gateway-address.js";
import type { PlainOptions } from "./plain-http.js";
import { defaultPlatform, type Platform } from "./platform.js";

/** Why a code could not be exchanged for a token. */
export class PairingError extends Error {
  override readonly name = "PairingError";
  constructor(
    /**
     * `wrong`: not this code. `none_open`: no code is open, or it has expired. `slow_down`: too
     * many tries. `unreachable`: no answer.
     */
    readonly reason: "wrong" | "none_open" | "slow_down" | "unreachable",
    message: string,
    /** For `slow_down`: when to try again. */
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }
}

/** The twelve digits of a pairing code as `NNNN-NNNN-NNNN`; undefined for other text. */
export function normalizeCode(text: string): string | undefined {
  const digits = text.replace(/[\s-]/g, "");
  return /^\d{12}$/.test(digits) ? digits.replace(/(\d{4})(?=\d)/g, "$1-") : undefined;
}

/**
 * The code in what a QR code of `crab devices pair --qr` holds (`https://host/device/#pair=…`), or
 * in the code itself.
 */
export function codeFromLink(text: string): string | undefined {
  const found = /#(?:.*&)?pair=([^&]*)/.exec(text);
  return normalizeCode(found?.[1] ?? text);
}

/**
 * Exchanges a pairing code for a token, once. Throws {@link PairingError}, and a TypeError for an
 * address that cannot be used. Source: docs/protocols/clawseed.md, section 8.
 */
export async function pair(
  gateway: string,
  code: string,
  platform: Pick<Platform, "fetch"> = defaultPlatform(),
  options: PlainOptions = {},
): Promise<string> {
  return redeemCode(GatewayAddress.parse(gateway, options), code, "token", platform);
}

/**
 * Redeems a code, with a body if there is one; returns that member of the answer. Throws {@link
 * PairingError}.
 */
export async function redeemCode(
  gateway: GatewayAddress,
  code: string,
  member: "token" | "key_id",
  platform: Pick<Platform, "fetch">,
  body?: Record<string, string>,
): Promise<string> {
  const normal = normalizeCode(code);
  if (normal === undefined) throw new PairingError("wrong", "A pairing code has twelve digits.");
  const headers: Record<string, string> = {
    "X-Pairing-Code": normal,
    ...(body && { "Content-Type": "application/json" }),
  };
  let response: Response;
  try {
    response = await platform.fetch(gateway.route("/pair"), {
      method: "POST",
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch {
    throw new PairingError("unreachable", "The gateway does not answer.");
  }
  const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const value = answer[member];
  if (response.ok && typeof value === "string") return value;
  const why = typeof answer["error"] === "string" ? answer["error"] : `HTTP ${response.status}`;
  switch (response.status) {
    case 403:
      throw new PairingError("wrong", why);
    case 404:
      throw new PairingError("none_open", why);
    case 429:
      throw new PairingError("slow_down", why, Number(answer["retry_after"] ?? 60) * 1000);
    default:
      throw new PairingError("unreachable", why);
  }
}
