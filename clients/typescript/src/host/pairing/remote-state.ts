import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { openPrivateFolder, readPrivateFile, writePrivateFile } from "../../node/private-file.js";
import type { InstalledCertificate } from "./certificates.js";
import { selfSignedCertificate } from "./der.js";

const nonceMs = 15 * 60_000;

interface Stored {
  paired?: InstalledCertificate;
  /** Whose `pair.complete` has not come yet. */
  installed?: InstalledCertificate;
  nonces: Record<string, number>;
}

/** The keys and certificates of a host behind mutual TLS, in a folder of mode 0700. */
export class RemoteState {
  /** Grows with every change of the certificates. */
  version = 0;

  private constructor(
    private readonly file: string,
    readonly identityKey: KeyObject,
    readonly agreementKey: KeyObject,
    readonly bootstrap: { certificate_pem: string; key_pem: string },
    private stored: Stored,
  ) {}

  /** Reads what is there, or makes the keys of a new host. */
  static open(folder: string, id: string): RemoteState {
    openPrivateFolder(folder);
    const keysFile = join(folder, "keys.json");
    if (!existsSync(keysFile)) writePrivateFile(keysFile, newKeys(id));
    const keys = JSON.parse(readPrivateFile(keysFile)) as Record<string, string>;
    const text = (name: string) => {
      const value = keys[name];
      if (typeof value !== "string") throw new Error(`${keysFile} cannot be read`);
      return value;
    };
    const file = join(folder, "state.json");
    const stored = existsSync(file)
      ? (JSON.parse(readPrivateFile(file)) as Stored)
      : { nonces: {} };
    return new RemoteState(
      file,
      createPrivateKey(text("ed25519_pem")),
      createPrivateKey(text("x25519_pem")),
      { certificate_pem: text("bootstrap_certificate_pem"), key_pem: text("bootstrap_key_pem") },
      stored,
    );
  }

  get paired(): InstalledCertificate | undefined {
    return this.stored.paired;
  }
  get installed(): InstalledCertificate | undefined {
    return this.stored.installed;
  }
  /** What TLS shows now. */
  get shown(): { certificate_pem: string; key_pem: string } {
    return this.stored.installed ?? this.stored.paired ?? this.bootstrap;
  }

  /** False for a nonce that came in the last 15 minutes. */
  addNonce(nonce: string, now: number): boolean {
    const fresh = Object.entries(this.stored.nonces).filter(([, at]) => at + nonceMs >= now);
    if (fresh.some(([known]) => known === nonce)) return false;
    this.replace({ ...this.stored, nonces: Object.fromEntries([...fresh, [nonce, now]]) });
    return true;
  }

  install(installed: InstalledCertificate): void {
    this.replace({ ...this.stored, installed });
    ++this.version;
  }

  /** The pairing with that id is complete. */
  complete(pairingId: string): void {
    const { installed, nonces } = this.stored;
    if (installed?.pairing_id !== pairingId) return;
    this.replace({ paired: installed, nonces });
    ++this.version;
  }

  /** It failed after its certificate was installed. */
  goBack(pairingId: string): void {
    if (this.stored.installed?.pairing_id !== pairingId) return;
    const { paired, nonces } = this.stored;
    this.replace({ ...(paired && { paired }), nonces });
    ++this.version;
  }

  private replace(next: Stored): void {
    writePrivateFile(this.file, `${JSON.stringify(next)}\n`);
    this.stored = next;
  }
}

function newKeys(id: string): string {
  const pem = (key: KeyObject) => key.export({ format: "pem", type: "pkcs8" });
  const bootstrap = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return `${JSON.stringify({
    ed25519_pem: pem(generateKeyPairSync("ed25519").privateKey),
    x25519_pem: pem(generateKeyPairSync("x25519").privateKey),
    bootstrap_key_pem: pem(bootstrap.privateKey),
    bootstrap_certificate_pem: selfSignedCertificate(bootstrap, id, Date.now()),
  })}\n`;
}

/** The 32 bytes of a public key, or of a private key's public one, in base64. */
export function rawPublicKey(key: KeyObject): string {
  const { x = "" } = (key.type === "private" ? createPublicKey(key) : key).export({
    format: "jwk",
  });
  return Buffer.from(x, "base64url").toString("base64");
}

/** Throws for what are not 32 bytes in base64. */
export function publicKeyOf(curve: "Ed25519" | "X25519", base64: string): KeyObject {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length !== 32 || bytes.toString("base64") !== base64)
    throw new TypeError(`a key of ${curve} is 32 bytes in base64`);
  return createPublicKey({
    key: { kty: "OKP", crv: curve, x: bytes.toString("base64url") },
    format: "jwk",
  });
}
