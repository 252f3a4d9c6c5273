import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Api, ApiError } from "../src/api";
import { ServerEvents } from "../src/sse";
import { TryCall } from "../src/try/call";
import { Checker, PAUSE_MS } from "../src/try/check";
import { copies, quoted } from "../src/try/copies";
import { parsed } from "../src/try/json-text";
import { artifactOf, isPicture, rowsOf, textResult } from "../src/try/result";

const memory = { getItem: () => "half", setItem: () => undefined, removeItem: () => undefined };

describe("a stream of events", () => {
  const text = "event: a\r\ndata: 1\r\ndata: 2\r\n\r\n: nothing\nretry: 5\ndata:3\n\nevent: b\n\n";
  const whole = [
    { event: "a", data: "1\n2" },
    { event: "message", data: "3" },
  ];

  it("is the same wherever it is cut", () => {
    for (let at = 0; at <= text.length; ++at) {
      const events = new ServerEvents();
      expect([...events.push(text.slice(0, at)), ...events.push(text.slice(at))]).toEqual(whole);
    }
  });

  it("is not read for ever", () => {
    const events = new ServerEvents();
    const endless = () => {
      for (let piece = 0; piece < 20; ++piece) events.push("x".repeat(1_000_000));
    };
    expect(endless).toThrow("too long");
  });
});

const answering = (events: string, type = "text/event-stream") => {
  const seen: { path: string; body: Record<string, unknown> }[] = [];
  const send = (async (path: string, init: RequestInit) => {
    seen.push({ path, body: JSON.parse(String(init.body)) as Record<string, unknown> });
    return new Response(events, { headers: { "content-type": type } });
  }) as unknown as typeof fetch;
  return { seen, call: new TryCall(new Api(memory, send), () => "7") };
};
const sse = (event: string, data: object) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

describe("a call that is tried", () => {
  it("follows its progress and ends with its result", async () => {
    const { seen, call } = answering(
      sse("progress", { message: "half", progress: 1, total: 2 }) +
        sse("frame", { part: 1 }) +
        sse("result", { status: "ok", duration_ms: 6, result: { a: 1 } }),
    );
    const states: string[] = [];
    call.state.subscribe((now) => states.push(now.state));
    await call.run({ tool: "t", args: { x: "" }, timeoutMs: 5_000 });
    expect(seen[0]).toMatchObject({
      path: "./api/v1/tools/call",
      body: { call_id: "console-7", tool_name: "t", args: { x: "" }, timeout_ms: 5_000 },
    });
    expect(seen[0]?.body).not.toHaveProperty("idempotency_key");
    expect(call.state.value).toMatchObject({ state: "ok", ms: 6, result: { a: 1 } });
    expect(states).toEqual(["none", "running", "running", "running", "ok"]);
  });

  it("fails with the gateway's code, streamed or not", async () => {
    const refused = { status: "error", error: { code: "FORBIDDEN", message: "no" } };
    for (const { call } of [
      answering(sse("result", refused)),
      answering(JSON.stringify(refused), "application/json"),
    ]) {
      await call.run({ tool: "t", args: {} });
      expect(call.state.value).toMatchObject({ error: { code: "FORBIDDEN", message: "no" } });
    }
  });

  it("whose connection ends before its result is told as such, not as done", async () => {
    const { call } = answering(sse("progress", { message: "x" }));
    await call.run({ tool: "t", args: {} });
    expect(call.state.value).toMatchObject({ state: "failed", error: { code: "BROKEN_OFF" } });
  });

  it("is cancelled at the gateway by its id", async () => {
    const posts: unknown[] = [];
    const call = new TryCall({
      open: () => new Promise<Response>(() => undefined),
      post: async (path: string, body: unknown) => posts.push([path, body]) as never,
    });
    void call.run({ tool: "t", args: {} });
    await call.cancel();
    expect(posts).toMatchObject([["/v1/tools/cancel", { tenant_id: "default" }]]);
  });
});

describe("the check before a call", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("is asked once nobody has typed for 300 ms, with the last arguments", async () => {
    const asked: unknown[] = [];
    const post = async (_: string, body: unknown) => {
      asked.push(body);
      return { valid: true, errors: [], approval: false } as never;
    };
    const checker = new Checker({ post }, "t");
    checker.ask({ a: 1 }, "");
    await vi.advanceTimersByTimeAsync(PAUSE_MS - 1);
    checker.ask({ a: 2 }, "caller/ci");
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    expect(asked).toEqual([{ tool: "t", args: { a: 2 }, as: "caller/ci" }]);
    expect(checker.state.value).toMatchObject({ waiting: false, check: { valid: true } });
  });

  it("shows no answer that came after newer typing", async () => {
    let answer = (_: unknown): void => undefined;
    const post = () => new Promise<never>((done) => (answer = done as typeof answer));
    const checker = new Checker({ post }, "t");
    checker.ask({}, "");
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    checker.ask({ b: 1 }, "");
    answer({ valid: false, errors: [], approval: false });
    await vi.advanceTimersByTimeAsync(0);
    expect(checker.state.value).toEqual({ waiting: true });
  });

  it("tells why it could not be made", async () => {
    const post = () => Promise.reject(new ApiError(503, "BUSY", "later"));
    const checker = new Checker({ post }, "t");
    checker.ask({}, "");
    await vi.advanceTimersByTimeAsync(PAUSE_MS);
    expect(checker.state.value.error?.code).toBe("BUSY");
  });
});

describe("a call as text for a terminal", () => {
  it("is quoted so that nothing in it is run, and hides nothing", () => {
    const found = copies("disk_usage", { a: "it's $(rm) `x` \u202e \u001b[2J", ü: 1 });
    expect(found?.cli).toBe(
      "crab call disk_usage '{\"a\":\"it'\\''s $(rm) `x` \\u202e \\u001b[2J\",\"\\u00fc\":1}'",
    );
    for (const text of Object.values(found ?? {})) expect(text).toMatch(/^[\n\x20-\x7e]+$/);
  });

  it("is not offered for a name that would lie there", () => {
    expect(copies("a\u202eb", {})).toBeUndefined();
    expect(quoted("a;b")).toBe("'a;b'");
  });
});

describe("JSON that is typed", () => {
  it("tells the line where it stops being any", () => {
    expect(parsed('{\n "a": 1,\n "b": x\n}')).toMatchObject({ line: 3 });
    expect(parsed('{\n "a": 1')).toMatchObject({ line: 2 });
    expect(parsed('{\n "a": 1\n "b": 2\n}')).toMatchObject({ line: 3 });
    expect(parsed('[\n{},\n[],\n]\n')).toMatchObject({ line: 4 });
    expect(parsed('"a\nb"')).toMatchObject({ line: 1 });
    expect(parsed("[1]")).toEqual({ value: [1] });
  });
});

describe("a result", () => {
  it("is a table if it is a list of flat objects", () => {
    expect(rowsOf({ rows: [{ a: 1 }, { b: null }] })?.columns).toEqual(["a", "b"]);
    for (const other of [[], [1], [{ a: {} }], { a: [{}], b: 1 }, "x"])
      expect(rowsOf(other as never)).toBeUndefined();
  });

  it("is a picture only by type and size, from this gateway's artifacts only", () => {
    const artifact = (href: string, content_type: string, bytes = 1) =>
      artifactOf({ artifact: { href, content_type, bytes } });
    const png = artifact("/v1/artifacts/a1", "image/png");
    expect(png && isPicture(png)).toBe(true);
    for (const type of ["image/svg+xml", "text/html", "image/png; x"]) {
      const other = artifact("/v1/artifacts/a1", type);
      expect(other && isPicture(other), type).toBe(false);
    }
    const large = artifact("/v1/artifacts/a1", "image/png", 9 * 1024 * 1024);
    expect(large && isPicture(large)).toBe(false);
    for (const href of ["https://x/v1/artifacts/a", "//x", "/v1/artifacts/../peers", "/x"])
      expect(artifact(href, "image/png"), href).toBeUndefined();
  });

  it("of one text with lines is that text", () => {
    expect(textResult({ out: "a\nb" })).toBe("a\nb");
    expect(textResult({ out: "a" })).toBeUndefined();
  });
});
