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

function ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
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
const call = (tool_name: string) =>
  ask("POST", "/v1/tools/call", {
    version: "v1",
    call_id: tool_name,
    tool_name,
    tenant_id: "default",
    args: {},
    context: { agent_id: "a", session_id: "s" },
  });

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
