import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, describe, expect, test } from "vitest";

import { CallError } from "../src/client/call-error.js";
import { EventStreamParser } from "../src/client/event-stream.js";
import { type StreamPart, ToolClient, type ToolClientOptions } from "../src/client/tool-client.js";

interface Asked {
  body: Record<string, unknown>;
  headers: IncomingMessage["headers"];
  response: ServerResponse;
}
type Answer = (asked: Asked) => void;

let server: Server | undefined;
let client: ToolClient | undefined;
const asked: Asked[] = [];

/** A gateway that answers with each of these once, and with the last from then on. */
async function gateway(
  answers: Answer[],
  options: Partial<ToolClientOptions> = {},
): Promise<ToolClient> {
  asked.length = 0;
  server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const body = (text === "" ? {} : JSON.parse(text)) as Asked["body"];
      const one = { body, headers: request.headers, response };
      asked.push(one);
      answers[Math.min(asked.length, answers.length) - 1]?.(one);
    });
  });
  await new Promise<void>((done) => server?.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  client = new ToolClient({ gateway: `http://127.0.0.1:${port}`, token: "t", ...options });
  return client;
}

const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
};
const response = (one: Asked, members: object): object => ({
  version: "v1",
  call_id: one.body["call_id"],
  tool_name: one.body["tool_name"],
  status: "ok",
  duration_ms: 1,
  ...members,
});
const good: Answer = (one) => json(one.response, response(one, { result: { n: 1 } }));
const failing =
  (status: string, code: string, details?: object): Answer =>
  (one) =>
    json(
      one.response,
      response(one, { status, error: { code, message: "m", retryable: false, details } }),
    );
const hangUp: Answer = (one) => one.response.socket?.destroy();

async function failure(call: Promise<unknown>): Promise<CallError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CallError);
  return error as CallError;
}

afterEach(async () => {
  client?.close();
  server?.closeAllConnections();
  await new Promise((done) => (server ? server.close(done) : done(undefined)));
  server = undefined;
});

describe("a call", () => {
  test("has every member that is required, and its own context", async () => {
    const caller = await gateway([good], { context: { agentId: "a", platform: "p" } });
    await caller.call("t", { x: 1 }, { context: { sessionId: "s" }, idempotencyKey: "k" });
    expect(asked[0]?.body).toMatchObject({
      version: "v1",
      tool_name: "t",
      tenant_id: "default",
      args: { x: 1 },
      context: { agent_id: "a", session_id: "s", platform: "p" },
      idempotency_key: "k",
    });
    expect(asked[0]?.headers.authorization).toBe("Bearer t");
  });

  test("that lost its answer is sent again under its id and key", async () => {
    const caller = await gateway([hangUp, hangUp, good]);
    const answer = await caller.call("t", {}, { idempotencyKey: "k" });
    expect(answer.result).toEqual({ n: 1 });
    expect(new Set(asked.map((one) => one.body["call_id"])).size).toBe(1);
    expect(asked.map((one) => one.body["idempotency_key"])).toEqual(["k", "k", "k"]);
  });

  test("that never got one has an unknown outcome", async () => {
    const caller = await gateway([hangUp], { retries: 2 });
    const error = await failure(caller.call("t"));
    expect([error.code, error.status, error.attempts, error.retryable]).toEqual([
      "OUTCOME_UNKNOWN",
      "no_answer",
      3,
      false,
    ]);
  });

  test("that was never sent is UNAVAILABLE", async () => {
    const caller = await gateway([good], { retries: 1 });
    server?.closeAllConnections();
    await new Promise((done) => server?.close(done));
    const error = await failure(caller.call("t"));
    expect([error.code, error.attempts]).toEqual(["UNAVAILABLE", 2]);
  });

  for (const [status, code] of [
    ["error", "OUTCOME_UNKNOWN"],
    ["error", "TOOL_FAILED"],
    ["timeout", "TIMEOUT"],
  ] as const)
    test(`that ended as ${code} is not sent again`, async () => {
      const error = await failure((await gateway([failing(status, code), good])).call("t"));
      expect([error.code, error.attempts, asked.length]).toEqual([code, 1, 1]);
    });

  test("is repeated no earlier than the gateway says", async () => {
    const busy = failing("retryable_error", "RATE_LIMITED", { retry_after_ms: 300 });
    const caller = await gateway([busy, good]);
    const began = performance.now();
    await caller.call("t");
    expect(performance.now() - began).toBeGreaterThanOrEqual(295);
  });

  test("ends before a wait that is longer than its time", async () => {
    const busy = failing("retryable_error", "RATE_LIMITED", { retry_after_ms: 60_000 });
    const error = await failure((await gateway([busy])).call("t", {}, { timeoutMs: 100 }));
    expect([error.code, error.retryable, error.attempts]).toEqual(["RATE_LIMITED", true, 1]);
  });

  test("follows no redirect and sends its token nowhere else", async () => {
    const error = await failure(
      (
        await gateway([
          (one) => one.response.writeHead(307, { Location: "http://127.0.0.1:1/" }).end(),
        ])
      ).call("t"),
    );
    expect([error.httpStatus, error.status, asked.length]).toEqual([307, "no_answer", 1]);
  });

  const lies: Record<string, Answer> = {
    "another call's answer": (one) => json(one.response, response(one, { call_id: "other" })),
    "another tool's answer": (one) => json(one.response, response(one, { tool_name: "other" })),
    "no JSON": (one) => one.response.end("<html>"),
    "a list": (one) => json(one.response, []),
    "a status that there is not": (one) => json(one.response, response(one, { status: "fine" })),
    "a result that is no object": (one) => json(one.response, response(one, { result: [1] })),
    "another version": (one) => json(one.response, response(one, { version: "v2" })),
  };
  for (const [what, lie] of Object.entries(lies))
    test(`that gets ${what} is INTERNAL`, async () => {
      const error = await failure((await gateway([lie])).call("t"));
      expect([error.code, error.status, asked.length]).toEqual(["INTERNAL", "no_answer", 1]);
    });

  test("reads no more than its limit", async () => {
    const caller = await gateway(
      [(one) => json(one.response, response(one, { result: { x: "y".repeat(100_000) } }))],
      { maxReplyBytes: 10_000 },
    );
    expect((await failure(caller.call("t"))).message).toContain("larger than its limit");
  });

  test("of more than a mebibyte is not sent", async () => {
    const error = await failure((await gateway([good])).call("t", { x: "y".repeat(1 << 20) }));
    expect([error.code, asked.length]).toEqual(["INVALID_ARGS", 0]);
  });

  test("is not sent after its signal, and cancelled by it", async () => {
    const caller = await gateway([() => {}]);
    const abort = new AbortController();
    const call = failure(caller.call("t", {}, { signal: abort.signal, callId: "c" }));
    while (asked.length === 0) await new Promise((done) => setTimeout(done, 1));
    abort.abort();
    expect((await call).code).toBe("CANCELLED");
    while (asked.length < 2) await new Promise((done) => setTimeout(done, 1));
    expect(asked[1]?.body).toMatchObject({ call_id: "c", reason: "cancelled" });
    const late = failure(caller.call("t", {}, { signal: abort.signal }));
    expect((await late).code).toBe("CANCELLED");
  });
});

describe("a streamed call", () => {
  const event = (type: string, data: unknown) =>
    `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
  const streaming =
    (...events: Array<(one: Asked) => string>): Answer =>
    (one) => {
      one.response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const each of events) one.response.write(each(one));
      one.response.end();
    };
  const progress = () => event("progress", { message: "half", progress: 1, total: 2 });
  const result = (one: Asked) => event("result", response(one, { result: { n: 2 } }));
  const frame = () =>
    event("frame", { frame_no: 1, final: false, content_type: "text/plain", data_base64: "/w==" });
  async function all(stream: AsyncIterable<StreamPart>): Promise<StreamPart[]> {
    const parts: StreamPart[] = [];
    for await (const part of stream) parts.push(part);
    return parts;
  }

  test("gives progress, frames and the result", async () => {
    const parts = await all((await gateway([streaming(progress, frame, result)])).stream("t"));
    expect(parts.map((part) => part.kind)).toEqual(["progress", "frame", "result"]);
    expect(parts[1]).toMatchObject({ number: 1, data: Buffer.from([255]) });
  });

  test("that broke before a frame is sent again under its id", async () => {
    const caller = await gateway([streaming(progress), streaming(result)]);
    const parts = await all(caller.stream("t"));
    expect(parts.map((part) => part.kind)).toEqual(["progress", "result"]);
    expect(asked[0]?.body["call_id"]).toBe(asked[1]?.body["call_id"]);
  });

  test("that broke after a frame has an unknown outcome", async () => {
    const caller = await gateway([streaming(frame), streaming(result)]);
    const error = await failure(all(caller.stream("t")));
    expect([error.code, asked.length]).toEqual(["OUTCOME_UNKNOWN", 1]);
  });

  test("may be answered without events", async () => {
    const parts = await all((await gateway([good])).stream("t"));
    expect(parts).toMatchObject([{ kind: "result", answer: { result: { n: 1 } } }]);
  });

  test("throws what the result says", async () => {
    const bad = (one: Asked) =>
      event("result", response(one, { status: "error", error: { code: "CANCELLED" } }));
    const error = await failure(all((await gateway([streaming(bad)])).stream("t")));
    expect(error.code).toBe("CANCELLED");
  });
});

describe("the parser of events", () => {
  const text = "event: a\r\ndata: 1\r\ndata: grüß\r\n\r\n: comment\n\ndata:x\n\nevent: lost\n\n";
  test("reads a stream that is cut anywhere", () => {
    const bytes = Buffer.from(text);
    for (let size = 1; size < 9; ++size) {
      const parser = new EventStreamParser(100);
      const events = [];
      for (let at = 0; at < bytes.length; at += size)
        events.push(...parser.push(bytes.subarray(at, at + size)));
      expect(events).toEqual([
        { type: "a", data: "1\ngrüß" },
        { type: "message", data: "x" },
      ]);
    }
  });
  test("refuses an event above its limit, in one line or in many", () => {
    expect(() => new EventStreamParser(100).push(Buffer.from("data: " + "x".repeat(200)))).toThrow(
      RangeError,
    );
    const parser = new EventStreamParser(100);
    expect(() => {
      for (let i = 0; i < 50; ++i) parser.push(Buffer.from("data: xxxxxx\n"));
    }).toThrow(RangeError);
  });
});

describe("a call whose first attempt may have run", () => {
  test("is not called harmless because a later attempt was refused", async () => {
    const slowDown: Answer = (one) =>
      json(one.response, { error: "slow down", code: "RATE_LIMITED" }, 429);
    const caller = await gateway([hangUp, slowDown], { retries: 1 });
    const lost = await failure(caller.call("t"));
    expect([lost.code, lost.retryable, lost.attempts]).toEqual(["OUTCOME_UNKNOWN", false, 2]);
  });
});

describe("a client", () => {
  test("takes no address with a password, of another scheme, or that is none", () => {
    for (const bad of ["ftp://x", "http://user:secret@x", "unix:relative", "nonsense", ""])
      expect(() => new ToolClient({ gateway: bad }), bad).toThrow(TypeError);
  });

  test("sends no token in the clear beyond this machine", () => {
    for (const gateway of ["http://gateway.example", "ws://10.0.0.1:42617"]) {
      expect(() => new ToolClient({ gateway, token: "t" }), gateway).toThrow("https://");
      new ToolClient({ gateway, token: "t", allowPlain: true }).close();
    }
  });

  test("takes no token that is not one line, and does not repeat it", () => {
    for (const bad of ["", "a b", "secret\r\nX: y", "sécret"])
      try {
        new ToolClient({ gateway: "http://127.0.0.1:1", token: bad });
        expect.unreachable();
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        expect(String(error)).not.toContain("secret");
      }
  });

  test("reads its token from a private file, and again when it is refused", async () => {
    const folder = mkdtempSync(join(tmpdir(), "crab-ts-"));
    const file = join(folder, "token");
    writeFileSync(file, "old\n", { mode: 0o600 });
    const refused: Answer = (one) => {
      writeFileSync(file, "new\n");
      json(one.response, { error: "no such token", code: "UNAUTHORIZED" }, 401);
    };
    await gateway([refused, good]);
    const url = `http://127.0.0.1:${(server?.address() as AddressInfo).port}`;
    const caller = new ToolClient({ gateway: url, tokenFile: file });
    await caller.call("t");
    expect(asked.map((one) => one.headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
    caller.close();
    const gone: Answer = (one) => {
      rmSync(file, { force: true });
      json(one.response, { error: "no such token", code: "UNAUTHORIZED" }, 401);
    };
    server?.close();
    await gateway([gone, good]);
    const there = `http://127.0.0.1:${(server?.address() as AddressInfo).port}`;
    const other = new ToolClient({ gateway: there, tokenFile: file });
    const refusal = await failure(other.call("t")); // no ENOENT, which would say less
    expect([refusal.httpStatus, refusal.message]).toEqual([401, "UNAUTHORIZED: no such token"]);
    other.close();
    writeFileSync(file, "new\n", { mode: 0o600 });
    chmodSync(file, 0o640);
    expect(() => new ToolClient({ gateway: url, tokenFile: file })).toThrow("chmod 600");
    rmSync(folder, { recursive: true });
  });
});
