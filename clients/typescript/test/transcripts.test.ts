// Replays spec/transcripts/clawseed with the device on one side and a WebSocket server that plays
// the gateway on the other.
import { readdirSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";

import { afterEach, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";

import { Device } from "../src/device.js";
import type { Json, JsonObject } from "../src/frames.js";
import type { SocketConstructor } from "../src/platform.js";
import { ToolError } from "../src/tool.js";
import { errorCodes } from "../src/error-codes.js";

interface Step {
  from: "client" | "server" | "caller" | "model";
  frame?: JsonObject;
}

const folder = new URL("../../../spec/transcripts/clawseed/", import.meta.url);

/** The steps of a file with its `<word>`s as plain words. */
function stepsOf(file: string): Step[] {
  return JSON.parse(
    readFileSync(new URL(file, folder), "utf8").replace(/"<([^">]*)>"/g, '"$1"'),
  ) as Step[];
}

/**
 * The reply that the file gives to the request of that id; nothing when there is none, or it comes
 * too late.
 */
function replyTo(id: unknown, steps: Step[]): JsonObject | undefined {
  return steps
    .map((step) => step.frame)
    .find((frame) => frame?.["id"] === id && /^tool_(result|error)$/.test(String(frame?.["type"])));
}

/** What a handler does so that the device says `reply`. */
function act(reply: JsonObject | undefined): Json | Promise<Json> {
  if (!reply) return new Promise(() => {});
  if (reply["type"] === "tool_result" && reply["success"] !== false) return reply["output"] ?? "";
  const text = String(reply["error"] ?? reply["output"]);
  const code = errorCodes.find((each) => text.startsWith(`${each}: `));
  throw code
    ? new ToolError(code, text.slice(code.length + 2))
    : new ToolError("TOOL_FAILED", text);
}

describe("a device replays", () => {
  let server: WebSocketServer;
  let device: Device;
  afterEach(async () => {
    device.stop();
    await new Promise((done) => server.close(done));
  });

  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()) {
    test(file, async () => {
      const steps = stepsOf(file);
      const requests = steps
        .filter((step) => step.from === "server" && step.frame?.["type"] === "tool_call_request")
        .map((step) => step.frame as JsonObject);
      const replies: JsonObject[] = [];
      server = new WebSocketServer({
        host: "127.0.0.1",
        port: 0,
        handleProtocols: () => "clawseed.v1",
      });
      await new Promise((done) => server.once("listening", done));
      const done = new Promise<void>((resolve) => {
        server.on("connection", (socket) => {
          // The gateway's side of the file, all at once: a device has to cope with any frame at any
          // time.
          for (const step of steps) {
            if (step.from === "server") socket.send(JSON.stringify(step.frame));
          }
          socket.send('{"type":"registered_tools","tools":[]}');
          socket.on("message", (data: Buffer) => {
            const frame = JSON.parse(data.toString()) as JsonObject;
            if (/^tool_(result|error)$/.test(String(frame["type"]))) replies.push(frame);
            if (
              replies.length === requests.filter((request) => replyTo(request["id"], steps)).length
            )
              resolve();
          });
        });
      });
      const { port } = server.address() as AddressInfo;
      device = new Device({
        gateway: `ws://127.0.0.1:${port}`,
        token: "t",
        name: "Kitchen tablet",
        webSocket: WebSocket as unknown as SocketConstructor,
      });
      device.tool({
        name: "read_thermometer",
        description: "Room temperature in Celsius",
        handler: (call) => act(replyTo(call.id, steps)),
      });
      device.start();
      await done;
      for (const reply of replies) {
        const wanted = replyTo(reply["id"], steps) as JsonObject;
        if (wanted["type"] === "tool_result" && wanted["success"] !== false)
          expect(reply["output"]).toEqual(wanted["output"]);
        else expect(String(reply["error"])).toContain(String(wanted["error"] ?? wanted["output"]));
      }
    });
  }
});
