import { createPublicKey, verify } from "node:crypto";

import { beforeEach, describe, expect, test } from "vitest";

import { Device, type DeviceEvent } from "../src/device.js";
import { DeviceKey, type KeyStore, type StoredKey } from "../src/device-key.js";
import { eventually, FakePlatform, settle } from "./fake-platform.js";

const gateway = "http://127.0.0.1:1";

/** A store that is a variable. */
class Kept implements KeyStore {
  key: StoredKey | undefined;
  load = () => Promise.resolve(this.key);
  save = (key: StoredKey) => {
    this.key = key;
    return Promise.resolve();
  };
  forget = () => {
    this.key = undefined;
    return Promise.resolve();
  };
}

/** A gateway that knows one key, and gives `token-1`, `token-2` and so on for good signatures. */
class Gateway {
  publicKey = "";
  tokens = 0;
  revoked = false;
  reachable = true;
  /** Tokens that `/api/status` takes. */
  good = new Set<string>();

  readonly answer = (
    path: string,
    options: { headers?: Record<string, string>; body?: string | Blob },
  ): object | number | undefined => {
    if (!this.reachable) return undefined;
    const body = JSON.parse(String(options.body ?? "{}")) as Record<string, string>;
    switch (path) {
      case "/pair":
        this.publicKey = body["public_key"] ?? "";
        return { paired: true, key_id: "k1", device: "phone" };
      case "/device/challenge":
        return { nonce: `nonce-${this.tokens}` };
      case "/device/token": {
        const key = createPublicKey({
          key: Buffer.from(this.publicKey, "base64"),
          format: "der",
          type: "spki",
        });
        const signed = Buffer.from(`crab-device-v1\nk1\nnonce-${this.tokens}`);
        const good = verify(
          "sha256",
          signed,
          { key, dsaEncoding: "ieee-p1363" },
          Buffer.from(body["signature"] ?? "", "base64"),
        );
        if (this.revoked || !good || body["key_id"] !== "k1") return 401;
        this.good = new Set([`token-${++this.tokens}`]);
        return { token: `token-${this.tokens}` };
      }
      default:
        return this.good.has((options.headers?.["Authorization"] ?? "").replace("Bearer ", ""))
          ? {}
          : 401;
    }
  };
}

describe("a device with a key", () => {
  let world: FakePlatform;
  let server: Gateway;
  let store: Kept;
  let events: DeviceEvent[];

  beforeEach(async () => {
    world = new FakePlatform();
    server = new Gateway();
    world.respond = server.answer;
    store = new Kept();
    events = [];
    await DeviceKey.pair(gateway, "1234-5678-9012", store, world);
  });

  async function started(): Promise<Device> {
    const token = await DeviceKey.load(gateway, store, world);
    const device = new Device({
      gateway,
      token: token!,
      name: "Phone",
      platform: world,
      onEvent: (event) => events.push(event),
    });
    device.start();
    return device;
  }
  const dialled = (count: number) => eventually(() => world.sockets.length === count);
  const ended = () => eventually(() => events.at(-1)?.kind === "ended");

  test("the private half can be used and not be read", async () => {
    expect(store.key?.keyId).toBe("k1");
    await expect(crypto.subtle.exportKey("pkcs8", store.key!.pair.privateKey)).rejects.toThrow();
  });

  test("signs for a token before it dials", async () => {
    await started();
    await dialled(1);
    expect(world.socket.protocols).toEqual(["clawseed.v1", "bearer.token-1"]);
    world.socket.open();
    expect(events.map((event) => event.kind)).toEqual(["connecting", "connected"]);
  });

  test("signs anew at once when its token ended, and goes on with its calls", async () => {
    await started();
    await dialled(1);
    world.socket.open();
    world.socket.end(4401);
    await dialled(2);
    expect(world.socket.protocols[1]).toBe("bearer.token-2");
  });

  test("signs anew when a restarted gateway does not know the token", async () => {
    await started();
    await dialled(1);
    world.socket.open();
    world.socket.end(1006);
    server.good.clear();
    world.pass(2_000);
    world.socket.end(1006); // refused: a browser does not say why
    await dialled(3);
    expect(world.socket.protocols[1]).toBe("bearer.token-2");
    expect(events.some((event) => event.kind === "ended")).toBe(false);
  });

  test("two refusals in a row wait, so that nobody signs in circles", async () => {
    await started();
    await dialled(1);
    world.socket.open();
    world.socket.end(4401);
    await dialled(2);
    server.good.clear();
    world.socket.end(1006);
    await eventually(() => events.at(-1)?.kind === "lost");
    expect(world.sockets).toHaveLength(2);
  });

  test("a key that is revoked is the end", async () => {
    server.revoked = true;
    await started();
    await ended();
    expect(events.at(-1)).toMatchObject({ end: { reason: "refused" } });
    expect(world.sockets).toHaveLength(0);
  });

  test("a gateway that is away is tried again", async () => {
    server.reachable = false;
    await started();
    await eventually(() => events.at(-1)?.kind === "lost");
    server.reachable = true;
    world.pass(1_000);
    await dialled(1);
  });

  test("a stop while it signs holds", async () => {
    const device = await started();
    device.stop();
    for (let i = 0; i < 50; ++i) await settle();
    expect(world.sockets).toHaveLength(0);
    expect(events.at(-1)).toMatchObject({ end: { reason: "stopped" } });
  });

  test("a store without a key gives none", async () => {
    await store.forget();
    expect(await DeviceKey.load(gateway, store, world)).toBeUndefined();
  });
});
