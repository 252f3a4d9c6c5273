import { base64Of } from "./base64.js";
import { GatewayAddress } from "./gateway-address.js";
import type { PlainOptions } from "./plain-http.js";
import { redeemCode } from "./pairing.js";
import { defaultPlatform, type Platform } from "./platform.js";
import { TokenRefused, type TokenSource } from "./token-source.js";

/**
 * A stored device key: the key pair, whose private key cannot be exported unless its store asks for
 * that, and the id that the gateway gave it.
 */
export interface StoredKey {
  keyId: string;
  pair: CryptoKeyPair;
}

/**
 * Where a key is kept between runs of a program: {@link browserKeyStore} for pages, `fileKeyStore`
 * of `@crab/device/node` for Node.
 */
export interface KeyStore {
  /** It can store a new key's bytes only. Default: it stores the key as it is. */
  readonly needsExport?: boolean;
  load(): Promise<StoredKey | undefined>;
  save(key: StoredKey): Promise<void>;
  forget(): Promise<void>;
}

/**
 * Whether this environment has WebCrypto; browsers give it to secure origins only, Node has it from
 * version 19 on.
 */
export function hasDeviceKeys(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/**
 * A device that is known by its key: no secret that could be copied is stored anywhere, and a
 * stolen token ends within a day.
 *
 *     const key = await DeviceKey.pair(gateway, code, store);      // once
 *     const key = await DeviceKey.load(gateway, store);            // later
 *     new Device({ gateway, token: key, name: "Phone" });
 *
 * Source: docs/protocols/clawseed.md, section 9, "Device keys".
 */
export class DeviceKey implements TokenSource {
  private constructor(
    private readonly address: GatewayAddress,
    private readonly key: StoredKey,
    private readonly platform: Pick<Platform, "fetch">,
  ) {}

  /**
   * Creates a key, registers it at the gateway with a pairing code, and stores it. Throws {@link
   * PairingError}.
   */
  static async pair(
    gateway: string,
    code: string,
    store: KeyStore,
    platform: Pick<Platform, "fetch"> = defaultPlatform(),
    options: PlainOptions = {},
  ): Promise<DeviceKey> {
    const address = GatewayAddress.parse(gateway, options);
    const exportable = store.needsExport ?? false;
    const pair = await crypto.subtle.generateKey(algorithm, exportable, ["sign", "verify"]);
    const publicKey = base64Of(await crypto.subtle.exportKey("spki", pair.publicKey));
    const key = {
      keyId: await redeemCode(address, code, "key_id", platform, { public_key: publicKey }),
      pair,
    };
    await store.save(key);
    return new DeviceKey(address, key, platform);
  }

  /** The stored key; undefined when there is none. */
  static async load(
    gateway: string,
    store: KeyStore,
    platform: Pick<Platform, "fetch"> = defaultPlatform(),
    options: PlainOptions = {},
  ): Promise<DeviceKey | undefined> {
    const address = GatewayAddress.parse(gateway, options);
    const key = await store.load();
    return key && new DeviceKey(address, key, platform);
  }

  /** Signs a challenge of the gateway; {@link TokenSource}. */
  async token(): Promise<string> {
    const { keyId, pair } = this.key;
    const nonce = await this.ask("/device/challenge", {}, "nonce");
    const signed = new TextEncoder().encode(`crab-device-v1\n${keyId}\n${nonce}`);
    const signature = base64Of(await crypto.subtle.sign(algorithm, pair.privateKey, signed));
    return this.ask("/device/token", { key_id: keyId, nonce, signature }, "token");
  }

  /** One text member of the answer. */
  private async ask(path: string, body: Record<string, string>, member: string): Promise<string> {
    const response = await this.platform.fetch(this.address.route(path), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    const value = answer[member];
    if (response.ok && typeof value === "string") return value;
    const why =
      typeof answer["error"] === "string"
        ? answer["error"]
        : `the gateway answers ${response.status}`;
    throw response.status === 401 || response.status === 403
      ? new TokenRefused(why)
      : new Error(why);
  }
}
