import { describe, expect, it } from "vitest";

import { Api, ApiError, codeOf, pairingCodeOf, refusal } from "../src/api";

class Memory {
  readonly kept = new Map<string, string>();
  getItem = (key: string) => this.kept.get(key) ?? null;
  setItem = (key: string, value: string) => void this.kept.set(key, value);
  removeItem = (key: string) => void this.kept.delete(key);
}

const answers = (status: number, body: unknown) => {
  const seen: { path: string; init: RequestInit }[] = [];
  const send = (async (path: string, init: RequestInit) => {
    seen.push({ path, init });
    return new Response(status === 204 ? null : JSON.stringify(body), { status });
  }) as unknown as typeof fetch;
  return { seen, send };
};

describe("the session", () => {
  it("takes a code of a link and nothing else from the fragment", () => {
    expect(codeOf(`#in=${"a".repeat(43)}`)).toBe("a".repeat(43));
    for (const hash of ["", "#in=", "#in=a b", "#in=<b>", "#code=abc", `#in=${"a".repeat(129)}`])
      expect(codeOf(hash)).toBeUndefined();
    expect(pairingCodeOf("#pair=5809-8061-5827")).toBe("5809-8061-5827");
    expect(pairingCodeOf("#pair=580980615827")).toBe("580980615827");
    for (const hash of ["", "#pair=", "#pair=5809", "#pair=<b>", "#pair=5809-8061-58271", "#in=a"])
      expect(pairingCodeOf(hash)).toBeUndefined();
  });

  it("keeps the key and sends it with every later request", async () => {
    const { seen, send } = answers(200, { key: "half", principal: "local/1000" });
    const memory = new Memory();
    const api = new Api(memory, send);
    await api.signIn({ code: "code" });
    await api.get("/v1/admin/status");
    expect(seen.map(({ path }) => path)).toEqual(["./session", "./api/v1/admin/status"]);
    expect(seen[0]?.init.body).toBe('{"code":"code"}');
    expect(seen[0]?.init.headers).not.toHaveProperty("crab-console-key");
    expect(seen[1]?.init.headers).toHaveProperty("crab-console-key", "half");
    expect([...memory.kept.values()]).toEqual(["half"]);
  });

  it("is given for a token too, which is kept nowhere", async () => {
    const { seen, send } = answers(200, { key: "half", principal: "caller/me" });
    const memory = new Memory();
    await new Api(memory, send).signIn({ token: "0a1b" });
    expect(seen[0]?.init.body).toBe('{"token":"0a1b"}');
    expect([...memory.kept.values()]).toEqual(["half"]);
  });

  it("proves its key once for what needs that, and never for a tool", async () => {
    const { seen, send } = answers(403, { error: "prove it", code: "AUTH_REQUIRED" });
    const api = new Api(new Memory(), send);
    let asked = 0;
    api.onKeyNeeded = () => Promise.resolve((asked += 1) > 0);
    await expect(api.post("/v1/admin/reload", {})).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect([seen.length, asked]).toEqual([2, 1]);
    await expect(api.post("/v1/tools/call", {})).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect([seen.length, asked]).toEqual([3, 1]);
  });

  it("is not begun by an answer without a key", async () => {
    const memory = new Memory();
    const api = new Api(memory, answers(200, { principal: "x" }).send);
    await expect(api.signIn({ code: "code" })).rejects.toMatchObject({ code: "NO_KEY" });
    expect(api.hasKey).toBe(false);
  });

  it("ends with a 401, and says so once", async () => {
    const memory = new Memory();
    memory.setItem("crab-console-key", "half");
    const api = new Api(memory, answers(401, { error: "no", code: "UNAUTHENTICATED" }).send);
    let ended = 0;
    api.onSignedOut = () => void (ended += 1);
    await expect(api.get("/x")).rejects.toMatchObject({ status: 401 });
    await expect(api.get("/x")).rejects.toMatchObject({ status: 401 });
    expect([ended, api.hasKey]).toEqual([1, false]);
  });

  it("that another tab began meanwhile is not ended by the refusal of the old one", async () => {
    const memory = new Memory();
    memory.setItem("crab-console-key", "old");
    const send = (async () => {
      memory.setItem("crab-console-key", "new");
      return new Response("{}", { status: 401 });
    }) as unknown as typeof fetch;
    const api = new Api(memory, send);
    api.onSignedOut = () => expect.unreachable();
    await expect(api.get("/x")).rejects.toMatchObject({ status: 0, code: "SESSION_CHANGED" });
    expect(memory.getItem("crab-console-key")).toBe("new");
  });

  it("outlives a gateway that cannot be reached", async () => {
    const memory = new Memory();
    memory.setItem("crab-console-key", "half");
    const send = (() => Promise.reject(new TypeError("refused"))) as unknown as typeof fetch;
    const api = new Api(memory, send);
    await expect(api.get("/x")).rejects.toMatchObject({ status: 0, code: "NOT_CONNECTED" });
    expect(api.hasKey).toBe(true);
  });
});

describe("a refusal", () => {
  it.each([
    [{ error: "call again", code: "BUSY" }, "BUSY", "call again", ""],
    [{ error: { code: "GONE", message: "it is", next: "go on" } }, "GONE", "it is", "go on"],
    [{ error: { code: 7, message: [] } }, "HTTP_503", "the gateway answered 503", ""],
    [undefined, "HTTP_503", "the gateway answered 503", ""],
    [null, "HTTP_503", "the gateway answered 503", ""],
    ["<html>", "HTTP_503", "the gateway answered 503", ""],
  ])("is read from %j", (body, code, message, next) => {
    const error = refusal(503, body);
    expect(error).toBeInstanceOf(ApiError);
    expect([error.code, error.next]).toEqual([code, next]);
    expect(error.message).toContain(message);
  });
});
