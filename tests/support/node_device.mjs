// A device of clients/typescript in Node, for tests: node_device.mjs GATEWAY NAME, the token in
// CRAB_TOKEN or a key in the file CRAB_KEY, paired with CRAB_CODE where there is none; the compiled
// package in CRAB_DEVICE_PACKAGE. Every event and every step of a call is a line of JSON on
// standard output; a line on standard input is an order.
import { webcrypto } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { WebSocket } from "ws";

globalThis.crypto ??= webcrypto; // Node 18
const part = (path) => import(pathToFileURL(`${process.env.CRAB_DEVICE_PACKAGE}/${path}`).href);
const { Device, DeviceKey, ToolError } = await part("index.js");
const { fileKeyStore } = await part("node/index.js");
const [gateway, name] = process.argv.slice(2);
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function storedKey(path) {
  const store = fileKeyStore(path);
  const key = await DeviceKey.load(gateway, store);
  return key ?? DeviceKey.pair(gateway, process.env.CRAB_CODE, store);
}

const device = new Device({
  gateway,
  name,
  token: process.env.CRAB_KEY ? await storedKey(process.env.CRAB_KEY) : process.env.CRAB_TOKEN,
  webSocket: WebSocket,
  consent: (call) => call.caller.agent !== "stranger",
  onEvent: (event) => tell({ event }),
  onCall: (news) => tell({ call: news }),
});
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
device.tool({
  name: "echo",
  description: "Gives back its text",
  parameters: text,
  handler: (call) => call.args.text,
});
device.tool({
  name: "whole",
  description: "Gives back all its arguments",
  handler: (call) => call.args,
});
device.tool({
  name: "who",
  description: "Tells who asks",
  handler: (call) => ({ ...call.caller }),
});
device.tool({
  name: "picture",
  description: "Gives so many bytes",
  handler: (call) =>
    new Blob([Uint8Array.from({ length: call.args.bytes }, (_, i) => i % 250)], {
      type: "image/jpeg",
    }),
});
device.tool({
  name: "count",
  description: "Adds a line to the file in CRAB_COUNT",
  handler: () => {
    appendFileSync(process.env.CRAB_COUNT, "ran\n");
    return "done";
  },
});
device.tool({
  name: "asleep",
  description: "Fails",
  handler: () => {
    throw new ToolError("UNAVAILABLE", "the sensor is asleep");
  },
});
device.tool({
  name: "slow",
  description: "Ends when it is stopped",
  timeoutMs: 60_000,
  handler: (call) =>
    new Promise((done) =>
      call.signal.addEventListener("abort", () => {
        tell({ aborted: call.id });
        done("too late");
      }),
    ),
});
device.start();

const orders = {
  add: () => device.tool({ name: "added", description: "Came later", handler: () => "new" }),
  remove: () => device.removeTool("echo"),
  stop: () => device.stop(),
};
createInterface({ input: process.stdin })
  .on("line", (line) => orders[line]?.())
  .on("close", () => {
    device.stop();
    process.exit(0);
  });
