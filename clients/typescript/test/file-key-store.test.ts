import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { webcrypto } from "node:crypto";

import { afterEach, beforeEach, expect, test } from "vitest";

import { fileKeyStore } from "../src/node/index.js";

globalThis.crypto ??= webcrypto as Crypto; // Node 18

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "crab-key-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const newPair = () => crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);

test("a key that is loaded signs as the one that was saved, and cannot be exported", async () => {
  const store = fileKeyStore(join(folder, "key"));
  expect(await store.load()).toBeUndefined();
  const pair = await newPair();
  await store.save({ keyId: "k1", pair });
  const loaded = await store.load();
  expect(loaded?.keyId).toBe("k1");
  if (!loaded) return;
  const said = new TextEncoder().encode("said");
  const signature = await crypto.subtle.sign(algorithm, loaded.pair.privateKey, said);
  expect(await crypto.subtle.verify(algorithm, pair.publicKey, signature, said)).toBe(true);
  await expect(crypto.subtle.exportKey("pkcs8", loaded.pair.privateKey)).rejects.toThrow();
  await store.forget();
  expect(await store.load()).toBeUndefined();
  await store.forget();
});

test("the file is its owner's alone, and a second key replaces the first in one step", async () => {
  const path = join(folder, "key");
  const store = fileKeyStore(path);
  for (const keyId of ["k1", "k2"]) await store.save({ keyId, pair: await newPair() });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["key"]);
  expect((await store.load())?.keyId).toBe("k2");
  chmodSync(path, 0o644);
  await expect(store.load()).rejects.toThrow("can be read by others");
});

test.each(["", "{}", "[]", '{"key_id":"k1","private_key":"AAAA","public_key":"AAAA"}'])(
  "a file with %j is no key, and its content is not told",
  async (text) => {
    const path = join(folder, "key");
    writeFileSync(path, text, { mode: 0o600 });
    await expect(fileKeyStore(path).load()).rejects.toThrow("holds no device key");
  },
);
