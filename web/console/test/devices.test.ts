import { describe, expect, it } from "vitest";

import { isLoopback, matrixOf, pagesOf, pairedSince, qrPath, unfit } from "../src/devices/pairing";
import { type DeviceRow, deviceRows, firstExpiry, type Pairing } from "../src/devices/shapes";

const token = (id: string, more: object = {}) => ({
  id,
  kind: "token",
  roles: ["device"],
  created_at: "2026-01-01T00:00:00Z",
  revoked: false,
  ...more,
});
const row = (name: string, more: Partial<DeviceRow> = {}): DeviceRow => ({
  device: name,
  name,
  principal: `device/${name}`,
  connected: false,
  tools: 0,
  tokens: [token(`t-${name}`)],
  ...more,
});

describe("a code to scan (A46)", () => {
  it("is never drawn for this machine's own addresses, nor over plain http", () => {
    for (const host of [
      "127.0.0.1",
      "127.9.9.9",
      "0.0.0.0",
      "[::1]",
      "[::]",
      "localhost",
      "a.localhost",
    ])
      expect(unfit(`https://${host}:42617/device/`), host).toBe("loopback");
    expect(unfit("https://[::ffff:127.0.0.1]/device/")).toBe("loopback");
    expect(unfit("http://home.example/device/")).toBe("plain");
    expect(unfit("not an address")).toBe("none");
    expect(unfit("https://192.168.1.4:42617/device/")).toBeUndefined();
  });

  it("does not take a name that only looks like this machine for it", () => {
    expect(isLoopback("localhost.example")).toBe(false);
    expect(isLoopback("127.example")).toBe(false);
  });

  it("is only shown with the address that it holds", () => {
    const [own, other] = ["https://home.example/device/", "https://10.0.0.2/device/"];
    const pairing: Pairing = { pages: [{ url: own }, { url: other, qr: ["0"] }], qr: ["1"] };
    expect(matrixOf(pairing, { url: own })).toEqual(["1"]);
    expect(matrixOf(pairing, { url: other, qr: ["0"] })).toEqual(["0"]);
    expect(matrixOf(pairing, { url: other })).toBeUndefined();
    const plain = { url: "http://home.example/device/" };
    expect(matrixOf({ pages: [plain], qr: ["1"] }, plain)).toBeUndefined();
  });

  it("holds the address of this page first, else one that others can reach", () => {
    const urls = (here: string) =>
      pagesOf(
        {
          pages: [
            { url: "http://127.0.0.1:42617/device/" },
            { url: "https://a.example/device/" },
            { url: "https://b.example/device/" },
          ],
        },
        here,
      ).map(({ url }) => new URL(url).hostname);
    expect(urls("b.example")[0]).toBe("b.example");
    expect(urls("127.0.0.1")[0]).toBe("a.example");
  });

  it("is one square of a path for each dark one", () => {
    expect(qrPath(["10", "01"])).toBe("M0 0h1v1h-1zM1 1h1v1h-1z");
  });
});

describe("a pairing (A47)", () => {
  const before = { devices: [row("old")], callers: [] };

  it("is over once a device has a credential that it had not before", () => {
    expect(pairedSince(before, before)).toBeUndefined();
    const now = { devices: [row("old"), row("phone")], callers: [] };
    expect(pairedSince(before, now)?.name).toBe("phone");
    const again = { devices: [row("old", { tokens: [token("t-old"), token("t2")] })], callers: [] };
    expect(pairedSince(before, again)?.name).toBe("old");
  });

  it("is not over by a token that was revoked meanwhile", () => {
    const now = { devices: [row("x", { tokens: [token("n", { revoked: true })] })], callers: [] };
    expect(pairedSince(before, now)).toBeUndefined();
  });
});

describe("the list of devices", () => {
  it("has those that need somebody first, then those that are there", () => {
    const rows = [row("a"), row("b", { connected: true }), row("c", { waiting_tools: ["x"] })];
    expect(deviceRows(rows, "", "").map(({ name }) => name)).toEqual(["c", "b", "a"]);
    expect(deviceRows(rows, "", "waiting").map(({ name }) => name)).toEqual(["c"]);
    expect(deviceRows(rows, " DEVICE/A ", "").map(({ name }) => name)).toEqual(["a"]);
  });

  it("tells the first end of what still counts", () => {
    const tokens = [
      token("1", { expires_at: "2026-03-01T00:00:00Z" }),
      token("2", { expires_at: "2026-02-01T00:00:00Z" }),
      token("3", { expires_at: "2026-01-01T00:00:00Z", revoked: true }),
    ];
    expect(firstExpiry(row("a", { tokens }))).toBe("2026-02-01T00:00:00Z");
  });
});
