import type { Json, JsonObject } from "../../frames.js";
import { hasOwn, isJsonObject } from "../../rtp.js";
import { parseStrict } from "../strict-json.js";

/** Why a handshake ended; the codes are those of docs/protocols/rtp.md, 5.8. */
export class PairingFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export function violation(message: string): PairingFailure {
  return new PairingFailure("PROTOCOL_VIOLATION", message);
}

const escapes: Record<string, string> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

/** JSON as it is signed: members in their order, no white space, the escapes of 5.4. */
export function signedJson(value: Json): string {
  if (typeof value === "string")
    return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (one) => escapes[one] as string);
  if (Array.isArray(value)) return `[${value.map(signedJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `"${name}":${signedJson(each)}`);
  return `{${members.join(",")}}`;
}

/** Reads a message; `pairingId`: that of the handshake. Throws a {@link PairingFailure}. */
export function parseMessage(text: string, pairingId: string | undefined): JsonObject {
  let body: Json;
  try {
    body = parseStrict(Buffer.from(text));
  } catch (error) {
    throw violation((error as Error).message.replace("request", "message"));
  }
  if (!isJsonObject(body)) throw violation("a message is one JSON object");
  checkTexts(body);
  if (text_(body, "version") !== "v1")
    throw new PairingFailure("UNSUPPORTED_VERSION", "version: must be v1");
  const id = text_(body, "pairing_id");
  const isError = text_(body, "type") === "pair.error";
  if (!isError && !/^[\x21-\x7e]{1,128}$/.test(id))
    throw violation("pairing_id: 1 to 128 visible ASCII characters");
  if (pairingId !== undefined && id !== pairingId && !(isError && id === ""))
    throw violation("pairing_id: is that of another handshake");
  return body;
}

function checkTexts(value: Json): void {
  if (value === null) throw violation("null is no value here");
  if (typeof value === "string" && /[\0-\x08\x0b\x0c\x0e-\x1f]|[\ud800-\udfff]/u.test(value))
    throw violation("a text holds a control character, or is not Unicode");
  if (typeof value === "object") for (const each of Object.values(value)) checkTexts(each);
}

/** A member that has to be a text. */
export function text_(object: JsonObject, name: string): string {
  const value = hasOwn(object, name) ? object[name] : undefined;
  if (typeof value !== "string") throw violation(`${name}: must be a text`);
  return value;
}

/** A member that has to be bytes in base64, between so many. */
export function bytes_(object: JsonObject, name: string, least: number, most: number): Buffer {
  const value = text_(object, name);
  const bytes = Buffer.from(value, "base64");
  if (bytes.toString("base64") !== value) throw violation(`${name}: must be base64 with padding`);
  if (bytes.length < least || bytes.length > most)
    throw violation(`${name}: must have ${least} to ${most} bytes`);
  return bytes;
}

/** A time as it is signed, and its whole second; `utc`: in UTC. */
export function time_(
  object: JsonObject,
  name: string,
  utc = false,
): { text: string; seconds: number } {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.exec(
    text_(object, name),
  );
  const [, date = "", clock = "", fraction = "", zone = ""] = found ?? [];
  const offset = /^(Z|[+-]00:00)$/.test(zone) ? "Z" : zone;
  const ms = Date.parse(`${date}T${clock}${offset}`);
  if (!found || Number.isNaN(ms)) throw violation(`${name}: must be a time of RFC 3339`);
  const rest = fraction.replace(/\.?0+$/, "");
  const text =
    utc && offset !== "Z"
      ? `${new Date(ms).toISOString().slice(0, 19)}${rest}Z`
      : `${date}T${clock}${rest}${offset}`;
  return { text, seconds: ms / 1_000 };
}
