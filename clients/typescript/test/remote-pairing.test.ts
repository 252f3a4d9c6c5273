// The vectors of docs/protocols/rtp.md, 5.9, and what a certificate request is made of.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from "node:crypto";

import { expect, test } from "vitest";

import type { JsonObject } from "../src/frames.js";
import { certificateRequest, selfSignedCertificate } from "../src/host/pairing/der.js";
import { parseMessage, PairingFailure, signedJson, time_ } from "../src/host/pairing/messages.js";
import { isSignedInit } from "../src/host/pairing/remote-pairing.js";
import { publicKeyOf, rawPublicKey } from "../src/host/pairing/remote-state.js";

function ed25519(first: number): KeyObject {
  const seed = Buffer.from(Array.from({ length: 32 }, (_, i) => first + i));
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: "der", type: "pkcs8" });
}
const gateway = ed25519(0);
const remote = ed25519(0x20);
const pairing_id = "000102030405060708090a0b0c0d0e0f";
const challenge_id = "101112131415161718191a1b1c1d1e1f";
const block = (label: string, text: string) =>
  `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;

const init: JsonObject = {
  gateway: {
    gateway_id: "gw_home",
    public_key_ed25519: "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
    nonce: "gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaX",
    issued_at: "2026-02-13T16:00:00.12Z",
  },
};
const vectors: Array<[string, KeyObject, JsonObject, number, string]> = [
  [
    "pair.init",
    gateway,
    init,
    267,
    "ARlj9lnpwOXx/h/SBqLNQ5KuBiP5OFjFKBcTT4MwL2VtIF8dK8rfxcOYuB/7ez9ZBiljqeirjPF0t3l9J86TDw==",
  ],
  [
    "pair.identity",
    remote,
    {
      remote: {
        component_type: "tool_host",
        component_id: "mem <east>&1",
        public_key_ed25519: "Kay64UG8yvCyLhqU000LxzYeUm0L/hLIl5S8kyKWbdc=",
        public_key_x25519: "eaYx7t4b+cmPEgMs3q3Q56B5OY/HhriMyEbsia+FpRo=",
        mtls_cert_fingerprint: "",
      },
    },
    334,
    "AqGsKVNsxd24tOrEZuO2/YL7q3MAmDmtFi0K8w3IPw2iqm4042P55SZoBA2ObTjDfkR07Wrs1r9sVzL+oi7nBQ==",
  ],
  [
    "pair.challenge_response",
    remote,
    { challenge_id, challenge_plaintext: "oKGio6SlpqeoqaqrrK2ur7CxsrO0tba3uLm6u7y9vr8=" },
    216,
    "MqGgVIvp6pTflDrRd3mKP8GttC3aoY3F6ISGXOKZG5HJsZSLEN3Bq97EfU+94bNuOFOXahzxjV6C4PRG08/bCg==",
  ],
  [
    "pair.csr_request",
    remote,
    { csr_pem: block("CERTIFICATE REQUEST", "abc") },
    180,
    "GrlvmGqKlt3QQNO/lYs91fYukYA2pQuXy4auF1VTFnCeDaUUK1X6p4q9Ql2Xc5q8672YVtgRi0eQrh0FEcbdBw==",
  ],
  [
    "pair.csr_issued",
    gateway,
    {
      certificate_pem: block("CERTIFICATE", "abc"),
      certificate_chain_pem: [block("CERTIFICATE", "ca")],
      serial_number: "abc123",
      mtls_cert_fingerprint: "sha256:00ff",
      not_before: "2026-02-13T15:55:00Z",
      not_after: "2027-02-13T16:00:00Z",
    },
    394,
    "GQTHAOiIrMUqs6uiorzKD1op9uzJGuvyUTLWER4o0V2/VCSeyYa9G0xs4W2CMAKlvzytkn3P6qJ1MYEAAyPDDQ==",
  ],
  [
    "pair.csr_installed",
    remote,
    { mtls_cert_fingerprint: "sha256:00ff" },
    130,
    "6C7GQbI/6PKSGWrZOFPQc04wwlyL9GlBrnisp49nV1SmmGfHFkcZDV3bABih8xVCC7hDJ2TzNWc77d3zJhkgBw==",
  ],
];

for (const [type, key, body, length, signature] of vectors)
  test(`${type} is signed byte for byte`, () => {
    const text = signedJson({ type, version: "v1", pairing_id, ...body });
    expect(Buffer.byteLength(text)).toBe(length);
    expect(sign(null, Buffer.from(text), key).toString("base64")).toBe(signature);
  });

test("a pair.init is proven by its gateway's signature, and no flipped bit is", () => {
  const text = signedJson({ type: "pair.init", version: "v1", pairing_id, ...init });
  const signed = `${text.slice(0, -1)},"new":1,"sig_ed25519":"${vectors[0]?.[4]}"}`;
  const key = createPublicKey(gateway);
  expect(isSignedInit(signed, key)).toBe(true);
  expect(isSignedInit(signed, createPublicKey(remote))).toBe(false);
  const bytes = Buffer.from(text.slice(0, -1));
  for (let bit = 0; bit < bytes.length * 8; bit += 3) {
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    const whole = `${flipped.toString()},"sig_ed25519":"${vectors[0]?.[4]}"}`;
    expect(isSignedInit(whole, key), whole).toBe(false);
  }
});

test("times are reprinted without trailing zeros, and in UTC where that is said", () => {
  const time = (text: string, utc = false) => time_({ t: text }, "t", utc).text;
  expect(time("2026-02-13T16:00:00.120Z")).toBe("2026-02-13T16:00:00.12Z");
  expect(time("2026-02-13T16:00:00.000+00:00")).toBe("2026-02-13T16:00:00Z");
  expect(time("2026-02-13T16:00:00.5+01:30")).toBe("2026-02-13T16:00:00.5+01:30");
  expect(time("2026-02-13T16:00:00.5+01:30", true)).toBe("2026-02-13T14:30:00.5Z");
  for (const bad of ["2026-02-13", "2026-13-13T16:00:00Z", "2026-02-13T16:00:00", "now"])
    expect(() => time(bad), bad).toThrow(PairingFailure);
});

test("what is no message is refused", () => {
  for (const bad of ["", "[]", '{"type":null}', '{"type":"a\\u0001"}', '{"type":"a","type":"b"}'])
    expect(() => parseMessage(bad, undefined), bad).toThrow(PairingFailure);
});

test("keys are 32 bytes in base64 with padding", () => {
  expect(rawPublicKey(gateway)).toBe("A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=");
  for (const bad of ["", "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=", "AAAA", "A".repeat(43)])
    expect(() => publicKeyOf("Ed25519", bad), bad).toThrow(TypeError);
});

test("certificates and requests are DER that others read", () => {
  const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const made = new X509Certificate(selfSignedCertificate(key, "host-1", Date.now()));
  expect([made.subject, made.ca, made.verify(key.publicKey)]).toEqual(["CN=host-1", false, true]);
  expect(made.checkPrivateKey(key.privateKey)).toBe(true);
  const names = (host: string) =>
    Buffer.from(
      certificateRequest(key, "host-1", { uri: "crab://peer/tool_host/host-1", host }).replace(
        /-----.*-----|\n/g,
        "",
      ),
      "base64",
    );
  expect(names("10.0.0.1").includes(Buffer.from("87040a000001", "hex"))).toBe(true);
  const v6 = Buffer.from("871020010db8000000000000000000000001", "hex");
  expect(names("2001:db8::1").includes(v6)).toBe(true);
  expect(names("::ffff:1.2.3.4").includes(Buffer.from("ffff01020304", "hex"))).toBe(true);
  expect(names("host.example").includes(Buffer.from("\x82\x0chost.example", "latin1"))).toBe(true);
});
