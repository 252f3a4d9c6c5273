import { beforeEach, describe, expect, test } from "vitest";

import { Device } from "../src/device.js";
import { capabilities } from "../src/frames.js";
import { FakePlatform, settle } from "./fake-platform.js";

const offers = { capabilities: [...capabilities], max_message_bytes: 65536, grace_ms: 15_000 };

describe("calls that survive their link", () => {
  let world: FakePlatform;
  let ran: string[];
  let finish: (output: string) => void;

  beforeEach(() => {
    world = new FakePlatform();
    ran = [];
    const device = new Device({
      gateway: "http://127.0.0.1:1",
      token: "t0",
      name: "Phone",
      platform: world,
    });
    device.tool({
      name: "echo",
      description: "d",
      handler: (call) => {
        ran.push(call.id);
        return "done";
      },
    });
    device.tool({
      name: "slow",
      description: "d",
      handler: (call) => {
        ran.push(call.id);
        return new Promise((done) => (finish = done));
      },
    });
    device.start();
    world.socket.open(offers);
  });

  async function request(id: string, name = "echo"): Promise<void> {
    world.socket.say({ type: "tool_call_request", id, name, args: {}, deadline_ms: 600_000 });
    await settle();
  }
  function comeBack(): void {
    world.socket.end(1006);
    world.pass(2_000);
    world.socket.open(offers);
  }
  const results = () => world.socket.frames("tool_result").map((frame) => frame["id"]);

  test("a link that breaks before the gateway has spoken shortens no kept reply", async () => {
    await request("c1");
    const replies = results().length;
    expect(replies).toBe(1);
    world.socket.end(1006);
    world.pass(2_000);
    world.socket.onopen?.({} as never);
    expect(world.socket.frames("tool_call_accepted")).toEqual([]);
    world.socket.end(1006); // no `connected` came
    world.pass(120_000);
    world.socket.open(offers);
    await request("c1");
    expect(results()).toContain("c1");
    expect(ran).toEqual(["c1"]);
  });

  test("one process has one name on all its links", () => {
    const [first] = world.socket.frames("connect");
    comeBack();
    expect(first?.["instance"]).toMatch(/^[0-9a-f-]{1,64}$/);
    expect(world.socket.frames("connect")[0]?.["instance"]).toBe(first?.["instance"]);
  });

  test("a call that still runs is accepted again and runs once", async () => {
    await request("c1", "slow");
    comeBack();
    await request("c1", "slow");
    expect(world.socket.frames("tool_call_accepted")).toEqual([
      { type: "tool_call_accepted", id: "c1" },
    ]);
    finish("at last");
    await settle();
    expect(ran).toEqual(["c1"]);
    expect(results()).toEqual(["c1"]);
  });

  test("a call that has ended gets the same reply, without running again", async () => {
    await request("c1");
    await request("c1");
    expect(results()).toEqual(["c1", "c1"]);
    expect(ran).toEqual(["c1"]);
  });

  test("a call whose reply was acknowledged is not run again, and not answered", async () => {
    await request("c1");
    world.socket.say({ type: "result_acknowledged", id: "c1" });
    await request("c1");
    expect(results()).toEqual(["c1"]);
    expect(ran).toEqual(["c1"]);
  });

  test("a reply is sent again after 5 s, then 10 s, up to every minute, " +
    "until it is acknowledged", async () => {
    await request("c1");
    const sentAt: number[] = [];
    for (let second = 1; second <= 200; ++second) {
      const before = results().length;
      world.pass(1_000);
      // the link lives
      if (second % 20 === 0) world.socket.say({ type: "registered_tools", tools: [] });
      if (results().length > before) sentAt.push(second);
    }
    expect(sentAt).toEqual([5, 15, 35, 75, 135, 195]);
    world.socket.say({ type: "result_acknowledged", id: "c1" });
    world.pass(25_000);
    expect(results()).toHaveLength(7);
  });

  test("a reply outlives the grace period, since the gateway may have noticed " +
    "the break later", async () => {
    await request("c1");
    world.socket.end(1006);
    for (let i = 0; i < 30; ++i) {
      world.pass(2_000);
      world.socket.end(1006);
      await settle();
    }
    const dialled = world.sockets.length;
    while (world.sockets.length === dialled) world.pass(1_000);
    world.socket.open(offers);
    expect(results()).toEqual(["c1"]);
  });
});

describe("presence", () => {
  const phone = { battery: 0.8, charging: false, metered: true, foreground: true };
  const connected = (extra: object) => {
    const world = new FakePlatform();
    const device = new Device({
      gateway: "http://127.0.0.1:1",
      token: "t0",
      name: "Phone",
      platform: world,
    });
    device.setPresence(phone);
    device.start();
    world.socket.open({ ...offers, ...extra });
    return { world, device };
  };

  test("is told when the link opens and when it changes, and not otherwise", () => {
    const { world, device } = connected({});
    expect(world.socket.frames("presence")).toEqual([{ type: "presence", ...phone }]);
    device.setPresence({ ...phone });
    device.setPresence({ ...phone, foreground: false });
    expect(world.socket.frames("presence").map((frame) => frame["foreground"])).toEqual([
      true,
      false,
    ]);
    world.socket.end(1006);
    world.pass(2_000);
    world.socket.open(offers);
    expect(world.socket.frames("presence").map((frame) => frame["foreground"])).toEqual([false]);
  });

  test("is not told to a gateway that does not know it", () => {
    expect(
      connected({ capabilities: ["tool_call_cancel"] }).world.socket.frames("presence"),
    ).toEqual([]);
  });
});
