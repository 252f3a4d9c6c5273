import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { ToolHost } from "../src/host/index.js";

let folder: string;
let host: ToolHost;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "crab-host-"));
  host = new ToolHost("test", { log: () => {} });
});
afterEach(async () => {
  await host.stop();
  rmSync(folder, { recursive: true });
});

function ask(
  method: string,
  path: string,
  body?: object,
  whose = "",
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const headers = {
      "Content-Type": "application/json",
      ...(whose && { "Crab-Principal": whose }),
    };
    const asked = request(
      { socketPath: join(folder, "sock"), method, path, headers },
      (response) => {
        let text = "";
        response.on("data", (part: Buffer) => (text += part.toString()));
        response.on("end", () => resolve(JSON.parse(text) as Record<string, unknown>));
      },
    );
    asked.on("error", reject);
    asked.end(body && JSON.stringify(body));
  });
}

const names = async () =>
  ((await ask("GET", "/v1/tools"))["tools"] as { name: string }[]).map((tool) => tool.name);
const callOf = (whose: string, tool_name: string, call_id: string) =>
  ask(
    "POST",
    "/v1/tools/call",
    {
      version: "v1",
      call_id,
      tool_name,
      tenant_id: "default",
      args: {},
      context: { agent_id: "a", session_id: "s" },
    },
    whose,
  );
const call = (tool_name: string) => callOf("", tool_name, tool_name);
const cancelOf = (whose: string, call_id: string) =>
  ask("POST", "/v1/tools/cancel", { version: "v1", tenant_id: "default", call_id }, whose);

function countRuns(): void {
  let runs = 0;
  host.tool({
    name: "count",
    description: "Counts its runs",
    handler: () => ({ runs: ++runs }),
  });
}

test("tools come and go while a host serves, and a call that runs goes on", async () => {
  let end = (_: string): void => {};
  let began = (): void => {};
  const inside = new Promise<void>((resolve) => (began = resolve));
  host.tool({
    name: "slow",
    description: "Ends when the test says so",
    handler: () => {
      began();
      return new Promise<string>((resolve) => (end = resolve));
    },
  });
  await host.start({ unix: join(folder, "sock") });
  const running = call("slow");
  await inside;
  host.tool({ name: "late", description: "Came later", handler: () => "here" });
  expect(await names()).toEqual(["late", "slow"]);
  expect((await call("late"))["status"]).toBe("ok");
  host.removeTool("slow");
  expect(await names()).toEqual(["late"]);
  expect(await call("gone")).toMatchObject({ error: { code: "TOOL_NOT_FOUND" } });
  end("done");
  expect(await running).toMatchObject({ status: "ok", result: { text: "done" } });
});

test("callers of one gateway do not meet", async () => {
  countRuns();
  await host.start({ unix: join(folder, "sock") });
  expect(await ask("GET", "/v1/tools")).toMatchObject({ keeps_callers_apart: true });
  for (const _ of [1, 2]) {
    expect(await callOf("ann", "count", "c")).toMatchObject({ result: { runs: 1 } });
    expect(await callOf("bob", "count", "c")).toMatchObject({ result: { runs: 2 } });
  }
});

test("a cancel reaches the calls of its caller only", async () => {
  countRuns();
  await host.start({ unix: join(folder, "sock") });
  await callOf("ann", "count", "c");
  expect((await cancelOf("ann", "c"))["status"]).toBe("finished");
  expect((await cancelOf("bob", "c"))["status"]).toBe("not_found");
  expect((await callOf("cat", "count", "c"))["status"]).toBe("ok");
  expect(await callOf("bob", "count", "c")).toMatchObject({ error: { code: "CANCELLED" } });
});

test("cancels of one caller push out none of another, and the newest stay", async () => {
  countRuns();
  await host.start({ unix: join(folder, "sock") });
  for (let i = 0; i < 300; ++i) await cancelOf(i ? "ann" : "bob", `c${i}`);
  expect(await callOf("bob", "count", "c0")).toMatchObject({ error: { code: "CANCELLED" } });
  expect((await callOf("ann", "count", "c1"))["status"]).toBe("ok");
  expect(await callOf("ann", "count", "c299")).toMatchObject({ error: { code: "CANCELLED" } });
});

test("what came before a gateway named its callers does not run again", async () => {
  const where = { unix: join(folder, "sock"), stateDir: join(folder, "state") };
  host = new ToolHost("test", { log: () => {} });
  countRuns();
  await host.start(where);
  expect(await callOf("", "count", "old")).toMatchObject({ result: { runs: 1 } });
  await host.stop();
  host = new ToolHost("test", { log: () => {} });
  countRuns();
  await host.start(where);
  expect(await callOf("ann", "count", "new")).toMatchObject({ result: { runs: 1 } });
  expect(await callOf("ann", "count", "old")).toMatchObject({ result: { runs: 1 } });
  expect(await callOf("bob", "count", "new")).toMatchObject({ result: { runs: 2 } });
});
