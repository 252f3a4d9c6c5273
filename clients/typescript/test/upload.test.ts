import { beforeEach, describe, expect, test } from "vitest";

import { Device } from "../src/device.js";
import { capabilities } from "../src/frames.js";
import type { ToolHandler } from "../src/tool.js";
import { eventually, FakePlatform, settle } from "./fake-platform.js";

const artifacts = { upload: "/api/artifacts", inline_bytes: 1_000, max_bytes: 10_000 };
const offers = {
  capabilities: [...capabilities],
  max_message_bytes: 8192,
  grace_ms: 15_000,
  artifacts,
};
const id = "0".repeat(32);
const picture = (bytes: number) => new Blob([new Uint8Array(bytes)], { type: "image/jpeg" });

describe("a result that is too large for a message", () => {
  let world: FakePlatform;
  beforeEach(() => {
    world = new FakePlatform();
    world.respond = () => new Response(JSON.stringify({ artifact: id }), { status: 201 });
  });

  /** A device with the tool `give`, called once. */
  async function called(handler: ToolHandler, terms: object = offers): Promise<void> {
    const device = new Device({
      gateway: "http://127.0.0.1:1/lab",
      token: "t0",
      name: "Phone",
      platform: world,
    });
    device.tool({ name: "give", description: "d", handler });
    device.start();
    world.socket.open(terms as Record<string, unknown>);
    world.socket.say({
      type: "tool_call_request",
      id: "c 1",
      name: "give",
      args: {},
      deadline_ms: 20_000,
    });
    await settle();
  }
  const reply = () =>
    world.socket.sent.find(
      (frame) => frame["type"] === "tool_result" || frame["type"] === "tool_error",
    );
  const replied = () => eventually(() => reply() !== undefined);

  test("bytes are uploaded with their type and hash, and the reply names " +
    "the artifact", async () => {
    await called(() => picture(5));
    await replied();
    expect(reply()).toEqual({ type: "tool_result", id: "c 1", artifact: id, success: true });
    const { path, options } = world.asked[0]!;
    expect(path).toBe("/lab/api/artifacts?call_id=c%201");
    expect(options.method).toBe("POST");
    expect(options.headers).toEqual({
      Authorization: "Bearer t0",
      "Content-Type": "image/jpeg",
      "Content-Digest": "sha-256=:iFVQiq3hbsVz0h5qSF39CnYkCFwaFLXs3WSF3gxoOaQ=:",
    });
    expect((options.body as Blob).size).toBe(5);
  });

  test("text and JSON are uploaded when they are long, and told as they are " +
    "when they are not", async () => {
    await called((call) => ({ text: "x".repeat(call.uploads!.inlineBytes) }));
    await replied();
    expect(reply()).toMatchObject({ artifact: id });
    expect(world.asked[0]!.options.headers).toMatchObject({ "Content-Type": "application/json" });
    world = new FakePlatform();
    await called(() => "x".repeat(1_000));
    expect(reply()).toMatchObject({ output: "x".repeat(1_000) });
    expect(world.asked).toEqual([]);
  });

  test("where the gateway takes no uploads bytes are told in base64", async () => {
    await called((call) => (call.uploads ? "no" : picture(3)), { ...offers, artifacts: undefined });
    await replied();
    expect(reply()).toMatchObject({ output: { content_type: "image/jpeg", base64: "AAAA" } });
  });

  test("a broken network is tried again, and the token that holds then is used", async () => {
    let answers: Array<object | number | undefined> = [
      undefined,
      503,
      401,
      new Response(JSON.stringify({ artifact: id }), { status: 201 }),
    ];
    world.respond = () => answers.shift();
    await called(() => picture(5));
    for (const tries of [1, 2, 3]) {
      await eventually(() => world.asked.length === tries);
      await settle();
      world.pass(2_000);
    }
    await replied();
    expect(reply()).toMatchObject({ artifact: id });
    expect(world.asked).toHaveLength(4);
    answers = [];
  });

  test("what the gateway refuses fails the call with the gateway's words", async () => {
    world.respond = () =>
      new Response('{"error":"a quota is used up","code":"RATE_LIMITED"}', { status: 507 });
    await called(() => picture(5));
    await replied();
    // not RATE_LIMITED, which a gateway may take for "nothing was done": the handler has run
    expect(reply()).toMatchObject({
      error: "INTERNAL: the tool ran, but its result could not be uploaded: a quota is used up",
    });
    expect(world.asked).toHaveLength(1);
  });

  const busy = (retryAfter: string) =>
    new Response('{"error":"too many uploads at once","code":"RATE_LIMITED"}', {
      status: 429,
      headers: { "Retry-After": retryAfter },
    });

  test("a busy gateway is asked again when it says, and the tool runs once", async () => {
    let runs = 0;
    const answers = [
      busy("3"),
      new Response(JSON.stringify({ artifact: id }), { status: 201 }),
    ];
    world.respond = () => answers.shift();
    await called(() => {
      ++runs;
      return picture(5);
    });
    await eventually(() => world.asked.length === 1);
    await settle();
    world.pass(2_900);
    await settle();
    expect(world.asked).toHaveLength(1);
    world.pass(200);
    await replied();
    expect(reply()).toMatchObject({ artifact: id });
    expect(runs).toBe(1);
  });

  test("a gateway that is busy for longer than the call lasts fails it at once", async () => {
    world.respond = () => busy("25"); // the call has 20 s
    await called(() => picture(5));
    await replied();
    expect(reply()).toMatchObject({
      error: expect.stringMatching(/^INTERNAL: .*too many uploads/) as string,
    });
    expect(world.asked).toHaveLength(1);
  });

  test("a network that stays broken is no failure without effects either", async () => {
    world.respond = () => undefined;
    await called(() => picture(5));
    for (let tries = 1; tries < 5; ++tries) {
      await eventually(() => world.asked.length === tries);
      await settle();
      world.pass(4_000);
    }
    await replied();
    expect(reply()).toMatchObject({ error: expect.stringMatching(/^INTERNAL: /) as string });
  });

  test("what no gateway would take is not sent", async () => {
    await called(() => picture(10_001));
    await replied();
    expect(reply()).toMatchObject({
      error: expect.stringMatching(/^OVERSIZE: .*10001 bytes/) as string,
    });
    expect(world.asked).toEqual([]);
  });

  test("a call that is cancelled takes its upload with it", async () => {
    world.respond = (_, options) =>
      new Promise<Response>((_done, failed) =>
        options.signal?.addEventListener("abort", () => failed(new Error("aborted"))),
      );
    await called(() => picture(5));
    await eventually(() => world.asked.length === 1);
    world.socket.say({ type: "tool_call_cancel", id: "c 1", reason: "cancelled" });
    expect(world.asked[0]!.options.signal?.aborted).toBe(true);
    await settle();
    expect(reply()).toBeUndefined();
  });
});
