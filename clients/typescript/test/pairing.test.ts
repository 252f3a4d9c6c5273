import { describe, expect, test, vi } from "vitest";

import { GatewayAddress } from "../src/gateway-address.js";
import { codeFromLink, normalizeCode, pair } from "../src/pairing.js";

const answering = (status: number, body: unknown) => ({
  fetch: () => Promise.resolve(new Response(JSON.stringify(body), { status })),
});

describe("pairing", () => {
  test("gives the token of a good code", async () => {
    let asked: unknown[] = [];
    const fetch = (...words: unknown[]) => {
      asked = words;
      return Promise.resolve(new Response('{"paired":true,"token":"abc"}'));
    };
    expect(await pair("wss://crab.example:42617/lab/", "1234 5678 9012", { fetch })).toBe("abc");
    expect(asked).toEqual([
      "https://crab.example:42617/lab/pair",
      { method: "POST", headers: { "X-Pairing-Code": "1234-5678-9012" } },
    ]);
  });

  test("says why there is none", async () => {
    await expect(pair("http://localhost", "1", answering(200, {}))).rejects.toMatchObject({
      reason: "wrong",
    });
    await expect(
      pair("http://localhost", "123456789012", answering(403, { error: "no" })),
    ).rejects.toMatchObject({ reason: "wrong", message: "no" });
    await expect(
      pair("http://localhost", "123456789012", answering(404, {})),
    ).rejects.toMatchObject({ reason: "none_open" });
    await expect(
      pair("http://localhost", "123456789012", answering(429, { retry_after: 5 })),
    ).rejects.toMatchObject({ reason: "slow_down", retryAfterMs: 5000 });
    await expect(
      pair("http://localhost", "123456789012", { fetch: () => Promise.reject(new TypeError()) }),
    ).rejects.toMatchObject({ reason: "unreachable" });
  });

  test("reads codes as people type them and as QR codes hold them", () => {
    expect(normalizeCode(" 123456789012 ")).toBe("1234-5678-9012");
    expect(normalizeCode("12345678901")).toBeUndefined();
    expect(codeFromLink("https://host:1/device/#pair=1234-5678-9012")).toBe("1234-5678-9012");
    expect(codeFromLink("1234-5678-9012")).toBe("1234-5678-9012");
    expect(codeFromLink("https://host/")).toBeUndefined();
  });

  test("lets no token and no code travel in the clear beyond this machine", async () => {
    for (const there of ["http://gateway.example", "ws://10.0.0.1:1", "http://localhost.example"]) {
      expect(() => GatewayAddress.parse(there), there).toThrow("https://");
      expect(GatewayAddress.parse(there, { allowPlain: true }).route("/pair")).toMatch(/^http:/);
    }
    for (const here of ["http://LOCALHOST:1", "ws://127.9.9.9", "http://[::1]:1", "https://h"])
      expect(() => GatewayAddress.parse(here), here).not.toThrow();
    let asked = false;
    const platform = { fetch: () => Promise.reject(new Error(`${(asked = true)}`)) };
    await expect(pair("http://gateway.example", "123456789012", platform)).rejects.toThrow(
      TypeError,
    );
    expect(asked).toBe(false);
  });

  test("takes addresses of all four schemes and no others", () => {
    expect(GatewayAddress.parse("https://h:1/p/").endpoint("a b")).toBe(
      "wss://h:1/p/ws/chat?session_id=a%20b",
    );
    expect(GatewayAddress.parse("ws://[::1]:1").route("/pair")).toBe("http://[::1]:1/pair");
    expect(() => GatewayAddress.parse("ftp://h")).toThrow(TypeError);
    vi.stubGlobal("location", { host: "192.168.1.5:42617" });
    expect(GatewayAddress.parse("http://192.168.1.5:42617").route("/a")).toBe(
      "http://192.168.1.5:42617/a",
    ); // a page speaks to where it came from
    expect(() => GatewayAddress.parse("http://192.168.1.6:42617")).toThrow("https://");
    vi.unstubAllGlobals();
    expect(() => GatewayAddress.parse("host:1")).toThrow(TypeError);
  });
});
