import {
  createDecipheriv,
  createHash,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
  X509Certificate,
} from "node:crypto";

import type { JsonObject } from "../../frames.js";
import { isJsonObject, parsedJson } from "../../rtp.js";
import {
  fingerprint,
  type InstalledCertificate,
  isIssuedBy,
  isNamed,
  isValidAt,
} from "./certificates.js";
import { certificateRequest } from "./der.js";
import {
  bytes_,
  PairingFailure,
  parseMessage,
  signedJson,
  text_,
  time_,
  violation,
} from "./messages.js";
import { publicKeyOf, rawPublicKey, type RemoteState } from "./remote-state.js";

/** Who pairs, and with whom. */
export interface RemoteOptions {
  id: string;
  state: RemoteState;
  gatewayKey: KeyObject;
  /** By which others reach this host. */
  host: string | undefined;
  now: () => number;
}

const freshMs = 5 * 60_000;

/** Whether a text is a `pair.init` that this gateway has signed. */
export function isSignedInit(text: string, gatewayKey: KeyObject): boolean {
  try {
    const init = parseMessage(text, undefined);
    return init["type"] === "pair.init" && isSigned(init, initBody(init), gatewayKey);
  } catch {
    return false;
  }
}

/**
 * This host's side of one handshake. `onMessage()` returns what is to be sent, and throws a {@link
 * PairingFailure}. Source: docs/protocols/rtp.md, section 5.
 */
export class RemotePairing {
  pairingId = "";
  paired = false;
  private gatewayId = "";
  private expected = "pair.init";
  private csrKey: { publicKey: KeyObject; privateKey: KeyObject } | undefined;
  private installed = false;

  constructor(private readonly options: RemoteOptions) {}

  onMessage(text: string): string[] {
    const first = this.expected === "pair.init";
    const message = parseMessage(text, first ? undefined : this.pairingId);
    const type = text_(message, "type");
    if (type === "pair.error") {
      if (this.installed) this.options.state.goBack(this.pairingId);
      this.installed = false;
      throw new PairingFailure(
        "REMOTE_REFUSED",
        `the gateway says ${text_(message, "code")}: ${text_(message, "message")}`,
      );
    }
    if (type !== this.expected)
      throw violation(`${this.expected} was expected, and another message came`);
    switch (type) {
      case "pair.init":
        return this.onInit(message);
      case "pair.challenge":
        return this.onChallenge(message);
      case "pair.csr_issued":
        return this.onIssued(message);
      default:
        return this.onComplete(message);
    }
  }

  private onInit(message: JsonObject): string[] {
    const { gatewayKey, state, id, now } = this.options;
    this.pairingId = text_(message, "pairing_id");
    const gateway = part(message, "gateway");
    if (text_(gateway, "public_key_ed25519") !== rawPublicKey(gatewayKey))
      throw new PairingFailure(
        "GATEWAY_KEY_MISMATCH",
        "this remote is configured for another gateway's key",
      );
    this.checkSignature(message, initBody(message));
    const at = time_(gateway, "issued_at").seconds * 1_000;
    if (Math.abs(at - now()) > freshMs)
      throw new PairingFailure(
        "STALE_INIT",
        "issued_at is more than 5 minutes from this remote's clock; check both clocks",
      );
    const gatewayId = text_(gateway, "gateway_id");
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,47}$/.test(gatewayId))
      throw violation("gateway_id: is none");
    const nonce = bytes_(gateway, "nonce", 16, 64).toString("base64");
    if (!stored(() => state.addNonce(nonce, now())))
      throw new PairingFailure("STALE_INIT", "this pair.init came before");
    this.gatewayId = gatewayId;
    this.expected = "pair.challenge";
    return [
      this.signed("pair.identity", {
        remote: {
          component_type: "tool_host",
          component_id: id,
          public_key_ed25519: rawPublicKey(state.identityKey),
          public_key_x25519: rawPublicKey(state.agreementKey),
          mtls_cert_fingerprint: fingerprint(new X509Certificate(state.shown.certificate_pem)),
        },
      }),
    ];
  }

  private onChallenge(message: JsonObject): string[] {
    const { id, host } = this.options;
    const challengeId = text_(message, "challenge_id");
    const plaintext = this.opened(message, challengeId);
    this.csrKey = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.expected = "pair.csr_issued";
    return [
      this.signed("pair.challenge_response", {
        challenge_id: challengeId,
        challenge_plaintext: plaintext,
      }),
      this.signed("pair.csr_request", {
        csr_pem: certificateRequest(this.csrKey, id, { uri: this.uri, host }),
      }),
    ];
  }

  /** The text in a challenge (5.6). */
  private opened(message: JsonObject, challengeId: string): string {
    const wrong = (why: string) => new PairingFailure("CHALLENGE_FAILED", why);
    const aadBytes = bytes_(message, "aad", 1, 4_096);
    const aad = parsedJson(aadBytes.toString());
    const sealed = bytes_(message, "ciphertext", 1, 4_096);
    if (
      !isJsonObject(aad) ||
      aad["pairing_id"] !== this.pairingId ||
      aad["challenge_id"] !== challengeId
    )
      throw wrong("the challenge's additional data names other ids");
    if (sealed.length < 28) throw wrong("the challenge is shorter than a nonce and a tag");
    try {
      const publicKey = publicKeyOf("X25519", String(aad["ephemeral_public_key_x25519"]));
      const privateKey = this.options.state.agreementKey;
      const shared = diffieHellman({ privateKey, publicKey });
      if (shared.every((byte) => byte === 0)) throw new Error("a key of small order");
      const key = createHash("sha256").update(shared).update(aadBytes).digest();
      const cipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12), {
        authTagLength: 16,
      });
      cipher.setAAD(aadBytes);
      cipher.setAuthTag(sealed.subarray(sealed.length - 16));
      const text = Buffer.concat([
        cipher.update(sealed.subarray(12, sealed.length - 16)),
        cipher.final(),
      ]);
      return text.toString("latin1");
    } catch {
      throw wrong("the challenge cannot be decrypted with this remote's key");
    }
  }

  private onIssued(message: JsonObject): string[] {
    const chain = message["certificate_chain_pem"] ?? [];
    if (!Array.isArray(chain) || !chain.every((each) => typeof each === "string"))
      throw violation("certificate_chain_pem: must be texts");
    const stated = text_(message, "mtls_cert_fingerprint");
    this.checkSignature(message, {
      certificate_pem: text_(message, "certificate_pem"),
      ...(chain.length > 0 && { certificate_chain_pem: chain }),
      serial_number: text_(message, "serial_number"),
      mtls_cert_fingerprint: stated,
      not_before: time_(message, "not_before", true).text,
      not_after: time_(message, "not_after", true).text,
    });
    const certificate = this.checked(message, chain as string[]);
    stored(() => this.options.state.install(certificate));
    this.installed = true;
    this.expected = "pair.complete";
    return [this.signed("pair.csr_installed", { mtls_cert_fingerprint: stated })];
  }

  /** The certificate of a `pair.csr_issued`, judged (5.5). */
  private checked(message: JsonObject, chainPem: string[]): InstalledCertificate {
    const rejected = (why: string) =>
      new PairingFailure("CERTIFICATE_REJECTED", `the issued certificate ${why}`);
    const read = (text: string) => {
      if (text.split("-----BEGIN ").length !== 2) throw rejected("is not one PEM block");
      try {
        return new X509Certificate(text);
      } catch {
        throw rejected("or its chain cannot be read");
      }
    };
    const certificatePem = text_(message, "certificate_pem");
    const leaf = read(certificatePem);
    const now = this.options.now();
    if (fingerprint(leaf) !== text_(message, "mtls_cert_fingerprint").toLowerCase())
      throw rejected("has another fingerprint than stated");
    if (leaf.serialNumber.toLowerCase().replace(/^0+/, "") !== text_(message, "serial_number"))
      throw rejected("has another serial number than stated");
    if (
      Date.parse(leaf.validFrom) !== time_(message, "not_before").seconds * 1_000 ||
      Date.parse(leaf.validTo) !== time_(message, "not_after").seconds * 1_000
    )
      throw rejected("has other dates than stated");
    if (!isValidAt(leaf, now, freshMs)) throw rejected("is not valid now; check both clocks");
    const csrKey = this.csrKey as { publicKey: KeyObject; privateKey: KeyObject };
    if (!leaf.checkPrivateKey(csrKey.privateKey)) throw rejected("is for another key");
    if (!isNamed(leaf, this.uri, false)) throw rejected("does not name this remote");
    const authorityPem = [...chainPem].reverse().find((each) => {
      const one = read(each);
      return one.ca && one.checkIssued(one);
    });
    if (authorityPem === undefined) throw rejected("comes without its authority's certificate");
    const authority = read(authorityPem);
    if (!isValidAt(authority, now, freshMs))
      throw rejected("comes from an authority that is not valid now");
    if (!isIssuedBy(authority, authority) || !isIssuedBy(leaf, authority))
      throw rejected("was not issued by the authority that came with it");
    return {
      pairing_id: this.pairingId,
      gateway_id: this.gatewayId,
      key_pem: String(csrKey.privateKey.export({ format: "pem", type: "pkcs8" })),
      certificate_pem: certificatePem,
      ca_pem: authorityPem,
    };
  }

  private onComplete(message: JsonObject): string[] {
    if (text_(message, "status") !== "ok") throw violation("pair.complete: its status is not ok");
    stored(() => this.options.state.complete(this.pairingId));
    this.paired = true;
    return [];
  }

  private get uri(): string {
    return `crab://peer/tool_host/${this.options.id}`;
  }

  private checkSignature(message: JsonObject, body: JsonObject): void {
    if (!isSigned(message, body, this.options.gatewayKey))
      throw new PairingFailure(
        "SIGNATURE_INVALID",
        `the signature of ${text_(message, "type")} does not fit the gateway's key`,
      );
  }

  private signed(type: string, body: JsonObject): string {
    const text = signedJson({ type, version: "v1", pairing_id: this.pairingId, ...body });
    const signature = sign(null, Buffer.from(text), this.options.state.identityKey);
    return `${text.slice(0, -1)},"sig_ed25519":"${signature.toString("base64")}"}`;
  }
}

/** The text of a `pair.error`. */
export function errorMessage(pairingId: string, failure: PairingFailure): string {
  const { code, message } = failure;
  return signedJson({ type: "pair.error", version: "v1", pairing_id: pairingId, code, message });
}

function initBody(message: JsonObject): JsonObject {
  const gateway = part(message, "gateway");
  return {
    gateway: {
      gateway_id: text_(gateway, "gateway_id"),
      public_key_ed25519: text_(gateway, "public_key_ed25519"),
      nonce: text_(gateway, "nonce"),
      issued_at: time_(gateway, "issued_at").text,
    },
  };
}

function isSigned(message: JsonObject, body: JsonObject, key: KeyObject): boolean {
  const { type = "", pairing_id = "" } = message;
  const text = signedJson({ type, version: "v1", pairing_id, ...body });
  return verify(null, Buffer.from(text), key, bytes_(message, "sig_ed25519", 64, 64));
}

function part(message: JsonObject, name: string): JsonObject {
  const value = message[name];
  if (!isJsonObject(value)) throw violation(`${name}: must be an object`);
  return value;
}

function stored<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new PairingFailure(
      "PERSIST_FAILED",
      `the remote cannot store the pairing: ${(error as Error).message}`,
    );
  }
}
