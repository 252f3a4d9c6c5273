import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

// As much of DER as a certificate request and a self-signed certificate need: Node reads
// certificates and makes none, and the command openssl need not be there (and would want the key
// in a file).

/** An element: tag, length, content. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 | bytes.length, ...bytes]), content]);
}

const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const set = (...parts: Uint8Array[]) => der(0x31, ...parts);
const octets = (...parts: Uint8Array[]) => der(0x04, ...parts);
const bits = (content: Uint8Array) => der(0x03, Buffer.from([0]), content);
const explicit = (number: number, ...parts: Uint8Array[]) => der(0xa0 | number, ...parts);
const yes = () => der(0x01, Buffer.from([0xff]));

/** A positive integer of these big-endian bytes. */
function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = Buffer.from(first < 0 ? [0] : bytes.subarray(first));
  return (short[0] as number) & 0x80
    ? der(0x02, Buffer.from([0]), short)
    : der(0x02, short);
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [40 * first + second];
  for (const part of rest) {
    const digits = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift(0x80 | left % 128);
    bytes.push(...digits);
  }
  return der(0x06, Buffer.from(bytes));
}

function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/^..|[-:T]|\.\d+/g, "");
  return der(0x17, Buffer.from(text));
}

const commonName = (name: string) =>
  sequence(set(sequence(oid("2.5.4.3"), der(0x0c, Buffer.from(name)))));
const signatureAlgorithm = () => sequence(oid("1.2.840.10045.4.3.2")); // ECDSA with SHA-256
const spki = (key: KeyObject) => key.export({ format: "der", type: "spki" });

/** Names that a certificate is for. */
export interface AltNames {
  uri?: string;
  /** A host name or an IP address. */
  host?: string | undefined;
}

function altNames({ uri, host }: AltNames): Buffer {
  const names: Buffer[] = [];
  if (uri !== undefined) names.push(der(0x86, Buffer.from(uri)));
  if (host !== undefined && isIP(host) !== 0) names.push(der(0x87, addressBytes(host)));
  else if (host !== undefined) names.push(der(0x82, Buffer.from(host)));
  return sequence(oid("2.5.29.17"), octets(sequence(...names)));
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
  const plain = new URL(`http://[${address}]/`).hostname.slice(1, -1); // no dotted part any more
  const [head = "", tail] = plain.split("::");
  const words = (text: string | undefined) => (text ? text.split(":") : []);
  const gap = 8 - words(head).length - words(tail).length;
  const all = [...words(head), ...Array<string>(tail === undefined ? 0 : gap).fill("0")].concat(
    words(tail),
  );
  return Buffer.concat(all.map((word) => Buffer.from(word.padStart(4, "0"), "hex")));
}

function signed(content: Buffer, key: KeyObject): Buffer {
  return sequence(content, signatureAlgorithm(), bits(sign("sha256", content, key)));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/** A certificate request (PKCS #10, RFC 2986) for a P-256 key, as PEM. */
export function certificateRequest(
  key: { publicKey: KeyObject; privateKey: KeyObject },
  name: string,
  names: AltNames,
): string {
  const extensions = sequence(altNames(names));
  const attribute = sequence(oid("1.2.840.113549.1.9.14"), set(extensions));
  const content = sequence(
    integer(Buffer.from([0])),
    commonName(name),
    spki(key.publicKey),
    explicit(0, attribute),
  );
  return pem("CERTIFICATE REQUEST", signed(content, key.privateKey));
}

/** A certificate that a P-256 key has signed for itself, for ten years, as PEM (RFC 5280). */
export function selfSignedCertificate(
  key: { publicKey: KeyObject; privateKey: KeyObject },
  name: string,
  now: number,
): string {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] as number) & 0x7f) | 0x01;
  const id = createHash("sha1").update(spki(key.publicKey)).digest();
  const day = 86_400_000;
  const content = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serial),
    signatureAlgorithm(),
    commonName(name),
    sequence(utcTime(now - day), utcTime(now + 3_650 * day)),
    commonName(name),
    spki(key.publicKey),
    explicit(
      3,
      sequence(
        sequence(oid("2.5.29.19"), yes(), octets(sequence())), // no authority
        sequence(oid("2.5.29.15"), yes(), octets(der(0x03, Buffer.from([7, 0x80])))),
        sequence(oid("2.5.29.14"), octets(octets(id))),
      ),
    ),
  );
  return pem("CERTIFICATE", signed(content, key.privateKey));
}
