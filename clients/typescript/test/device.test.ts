import { beforeEach, describe, expect, test } from "vitest";

import { Device, type DeviceEvent, type DeviceOptions } from "../src/device.js";
import { capabilities } from "../src/frames.js";
import { ToolError, type ToolCall } from "../src/tool.js";
import { FakePlatform, settle } from "./fake-platform.js";

// A gateway that does not ask again; resume.test.ts has one that does.
const offers = {
  capabilities: capabilities.filter((name) => name !== "tool_call_resume"),
  max_message_bytes: 4096,
  grace_ms: 15_000,
};

describe("a device", () => {
  let world: FakePlatform;
  let events: DeviceEvent[];

  function make(options: Partial<DeviceOptions> = {}): Device {
    const device = new Device({
      gateway: "http://127.0.0.1:1",
      token: "t0",
      name: "Phone",
      platform: world,
      onEvent: (event) => events.push(event),
      ...options,
    });
    device.tool({
      name: "echo",
      description: "Gives back its arguments",
      handler: (call) => call.args,
    });
    return device;
  }
  function connected(options: Partial<DeviceOptions> = {}): Device {
    const device = make(options);
    device.start();
    world.socket.open(offers);
    return device;
  }
  async function request(
    id: string,
    name = "echo",
    fields: Record<string, unknown> = {},
  ): Promise<void> {
    world.socket.say({
      type: "tool_call_request",
      id,
      name,
      args: { a: 1 },
      deadline_ms: 5_000,
      ...fields,
    });
    await settle();
  }
  const replies = () =>
    world.socket.sent.filter(
      (frame) => frame["type"] === "tool_result" || frame["type"] === "tool_error",
    );

  beforeEach(() => {
    world = new FakePlatform();
    events = [];
  });

  test("offers its token as a subprotocol, and says who it is before it lists its tools", () => {
    connected();
    expect(world.socket.url).toBe("ws://127.0.0.1:1/ws/chat");
    expect(world.socket.protocols).toEqual(["clawseed.v1", "bearer.t0"]);
    expect(world.socket.sent.slice(0, 2)).toMatchObject([
      { type: "connect", v: 1, device_name: "Phone" },
      { type: "register_tools", tools: [{ name: "echo", parameters: { type: "object" } }] },
    ]);
    expect(events.at(-1)).toEqual({ kind: "connected", tools: 1, rejected: [] });
  });

  test("hands the gateway's traceparent on, and nothing that is none", async () => {
    const device = connected();
    device.tool({ name: "trace", description: "Of the call", handler: (call) => call.traceparent });
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await request("c1", "trace", { traceparent });
    await request("c2", "trace", { traceparent: `${traceparent}\n` });
    await request("c3", "trace");
    expect(replies().map((frame) => frame["output"])).toEqual([traceparent, "", ""]);
  });

  test("answers a call with what the handler returns, JSON as JSON", async () => {
    connected();
    await request("c1");
    expect(world.socket.frames("tool_call_accepted")).toEqual([
      { type: "tool_call_accepted", id: "c1" },
    ]);
    expect(replies()).toEqual([{ type: "tool_result", id: "c1", output: { a: 1 }, success: true }]);
  });

  test("gives the error of a handler its code, and INTERNAL to what it did " +
    "not expect", async () => {
    const device = connected();
    device.tool({
      name: "away",
      description: "d",
      handler: () => {
        throw new ToolError("UNAVAILABLE", "the sensor is asleep");
      },
    });
    device.tool({
      name: "broken",
      description: "d",
      handler: () => {
        throw new Error("oh");
      },
    });
    await request("c1", "away");
    await request("c2", "broken");
    await request("c3", "nobody");
    expect(replies().map((frame) => frame["error"])).toEqual([
      "UNAVAILABLE: the sensor is asleep",
      "INTERNAL: oh",
      expect.stringMatching(/^TOOL_NOT_FOUND: /),
    ]);
  });

  test("replies once to a request that comes twice", async () => {
    connected();
    await request("c1");
    await request("c1");
    expect(replies()).toHaveLength(1);
  });

  test("ends a handler at the deadline, and what it says later is not heard", async () => {
    const device = connected();
    let finish: (output: string) => void = () => {};
    let seen: ToolCall | undefined;
    device.tool({
      name: "slow",
      description: "d",
      handler: (call) => {
        seen = call;
        return new Promise<string>((done) => (finish = done));
      },
    });
    await request("c1", "slow");
    world.pass(5_000);
    expect(seen?.signal.aborted).toBe(true);
    finish("late");
    await settle();
    expect(replies()).toEqual([
      expect.objectContaining({ id: "c1", error: expect.stringMatching(/^TIMEOUT: /) }),
    ]);
  });

  test("stops a call that is cancelled and sends no reply", async () => {
    const device = connected();
    let seen: ToolCall | undefined;
    device.tool({
      name: "slow",
      description: "d",
      handler: (call) => {
        seen = call;
        return new Promise<string>(() => {});
      },
    });
    await request("c1", "slow");
    world.socket.say({ type: "tool_call_cancel", id: "c1", reason: "cancelled" });
    expect(seen?.signal.aborted).toBe(true);
    expect(replies()).toEqual([]);
  });

  test("refuses calls beyond those that run and wait", async () => {
    const device = connected({ parallelCalls: 1, queuedCalls: 1 });
    device.tool({ name: "slow", description: "d", handler: () => new Promise<string>(() => {}) });
    for (const id of ["c1", "c2", "c3"]) await request(id, "slow");
    expect(replies()).toEqual([
      expect.objectContaining({ id: "c3", error: expect.stringMatching(/^RATE_LIMITED: /) }),
    ]);
  });

  test("does not send a result that would close the link", async () => {
    const device = connected();
    device.tool({ name: "much", description: "d", handler: () => "x".repeat(5_000) });
    await request("c1", "much");
    expect(replies()).toEqual([
      expect.objectContaining({ error: expect.stringMatching(/^OVERSIZE: /) }),
    ]);
  });

  test("runs nothing that consent denies, and asks with the caller's name", async () => {
    const asked: string[] = [];
    let ran = false;
    const device = connected({
      consent: (call) => {
        asked.push(call.caller.principal);
        return false;
      },
    });
    device.tool({
      name: "camera",
      description: "d",
      handler: () => {
        ran = true;
        return "photo";
      },
    });
    await request("c1", "camera", { caller: { principal: "caller/ci", agent: "planner" } });
    expect(asked).toEqual(["caller/ci"]);
    expect(ran).toBe(false);
    expect(replies()).toEqual([
      expect.objectContaining({ error: expect.stringMatching(/^FORBIDDEN: /) }),
    ]);
  });

  test("lets allowed calls pass while others wait for consent", async () => {
    connected({
      parallelCalls: 1,
      consent: (call) => (call.id === "c1" ? new Promise<boolean>(() => {}) : true),
    });
    await request("c1");
    await request("c2");
    expect(replies().map((frame) => frame["id"])).toEqual(["c2"]);
  });

  test("tells changes of its tools once, as the whole set", () => {
    const device = connected();
    device.tool({ name: "camera", description: "d", handler: () => "" });
    device.removeTool("echo");
    world.pass(100);
    const lists = world.socket.frames("register_tools");
    expect(lists).toHaveLength(2);
    expect(lists[1]).toMatchObject({ replace: true, tools: [{ name: "camera" }] });
  });

  test("comes back to its chat session with growing waits, and sends again " +
    "what was not acknowledged", async () => {
    connected();
    await request("c1");
    await request("c2");
    world.socket.say({ type: "result_acknowledged", id: "c1" });
    world.socket.end(1006);
    expect(events.at(-1)).toEqual({ kind: "lost", why: "the link broke", retryInMs: 1_000 });
    world.pass(1_000);
    expect(world.sockets).toHaveLength(2);
    expect(world.socket.url).toBe("ws://127.0.0.1:1/ws/chat?session_id=s-1");
    world.socket.open(offers);
    expect(replies()).toEqual([expect.objectContaining({ id: "c2" })]);
    world.socket.end(1012);
    expect(events.at(-1)).toMatchObject({ kind: "lost", retryInMs: 2_000 });
  });

  test("forgets results whose grace period is over", async () => {
    connected();
    await request("c1");
    world.socket.end(1006);
    world.pass(1_000);
    world.socket.end(1006);
    await settle();
    world.pass(20_000);
    world.socket.open(offers);
    expect(replies()).toEqual([]);
  });

  test("a new network is tried at once", () => {
    const device = connected();
    world.socket.end(1006);
    device.networkChanged();
    expect(world.sockets).toHaveLength(2);
  });

  test("stays away when the gateway closes, and when its token is revoked", () => {
    connected();
    world.socket.end(1000, "by the operator");
    expect(events.at(-1)).toEqual({
      kind: "ended",
      end: { reason: "closed_by_gateway", message: "by the operator" },
    });
    connected();
    world.socket.end(4401);
    expect(events.at(-1)).toMatchObject({ kind: "ended", end: { reason: "refused" } });
    world.pass(60_000);
    expect(world.sockets).toHaveLength(2);
  });

  test("an attempt that leads nowhere is given up after 15 s, and what " +
    "comes of it later is not heard", async () => {
    make().start();
    const first = world.socket; // a gateway that takes the connection and says nothing
    world.pass(14_999);
    expect(events.at(-1)).toMatchObject({ kind: "connecting" });
    world.pass(1);
    expect(events.at(-1)).toMatchObject({
      kind: "lost",
      why: "the gateway does not answer",
      retryInMs: 1_000,
    });
    expect(first.closed).toBeDefined();
    world.pass(1_000);
    let answer: (status: number) => void = () => {};
    // nor does it say why it refuses
    world.respond = () => new Promise<number>((done) => (answer = done));
    world.socket.end(1006);
    await settle();
    world.pass(15_000);
    expect(events.at(-1)).toMatchObject({ kind: "lost", retryInMs: 2_000 });
    answer(401);
    await settle();
    world.pass(2_000);
    expect(world.sockets).toHaveLength(3);
    world.socket.open(offers);
    world.pass(15_000);
    expect(events.filter((event) => event.kind === "lost")).toHaveLength(2);
  });

  test("asks why a connection was refused: 401 ends it, silence does not", async () => {
    make().start();
    world.socket.end(1006);
    await settle();
    expect(events.at(-1)).toMatchObject({ kind: "lost", why: "the gateway does not answer" });
    world.pass(1_000);
    world.response = new Response("{}", { status: 429, headers: { "Retry-After": "90" } });
    world.socket.end(1006);
    await settle();
    expect(events.at(-1)).toMatchObject({ kind: "lost", retryInMs: 90_000 });
    world.pass(90_000);
    world.response = new Response("{}", { status: 401 });
    world.socket.end(1006);
    await settle();
    expect(events.at(-1)).toMatchObject({ kind: "ended", end: { reason: "refused" } });
  });

  test("an answer about an earlier connection does not touch the next one", async () => {
    const device = make();
    device.start();
    world.response = new Response("{}", { status: 401 });
    world.socket.end(1006);
    device.stop();
    device.start();
    await settle();
    world.socket.open(offers);
    expect(world.sockets).toHaveLength(2);
    expect(events.at(-1)).toMatchObject({ kind: "connected" });
  });

  test("a silent gateway is asked for a sign of life, and without one the link is dead", () => {
    connected();
    world.pass(30_000);
    expect(world.socket.frames("get_registered_tools")).toHaveLength(1);
    world.socket.say({ type: "registered_tools", tools: [] });
    world.pass(15_000);
    expect(events.at(-1)).toMatchObject({ kind: "connected" });
    world.pass(30_000);
    const dead = world.socket;
    world.pass(15_000);
    expect(events.filter((event) => event.kind === "lost")).toEqual([
      { kind: "lost", why: "the gateway stopped answering", retryInMs: 1_000 },
    ]);
    expect(dead.closed?.code).toBe(4408);
  });

  test("says goodbye when it is stopped", async () => {
    const device = connected();
    let seen: ToolCall | undefined;
    device.tool({
      name: "slow",
      description: "d",
      handler: (call) => {
        seen = call;
        return new Promise<string>(() => {});
      },
    });
    await request("c1", "slow");
    device.stop();
    expect(world.socket.closed?.code).toBe(1000);
    expect(seen?.signal.aborted).toBe(true);
    expect(events.at(-1)).toEqual({
      kind: "ended",
      end: { reason: "stopped", message: "stopped" },
    });
  });

  test("refuses tools that no gateway would take", () => {
    expect(() => make().tool({ name: "bad name", description: "d", handler: () => "" })).toThrow(
      TypeError,
    );
    expect(() => make().tool({ name: "good", description: "", handler: () => "" })).toThrow(
      TypeError,
    );
  });
});
