// A tool host of clients/typescript in Node, for tests: node_host.mjs OPTIONS, which is JSON; the
// compiled package is in CRAB_DEVICE_PACKAGE. `listen` of the options goes to start(); a line of
// JSON tells when it can be called. It stops at the end of standard input.
import { appendFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { ToolError, ToolHost } = await import(
  pathToFileURL(`${process.env.CRAB_DEVICE_PACKAGE}/host/index.js`).href
);
const { listen, count } = JSON.parse(process.argv[2]);
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const host = new ToolHost("node", { log: (line) => tell({ log: line }) });
const after = (ms) => new Promise((done) => setTimeout(done, ms));
const ran = (call) => appendFileSync(count, `${call.tool} ${call.id}\n`);

host.tool({
  name: "echo",
  description: "Gives back its text",
  parameters: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
  sideEffects: false,
  idempotent: true,
  handler: ({ args }) => args.text,
});
host.tool({
  name: "seen",
  description: "Tells what it sees of its call",
  sideEffects: false,
  handler: ({ id, tenantId, context, args, traceparent }) => ({
    id,
    tenantId,
    context,
    args,
    traceparent,
  }),
});
host.tool({
  name: "count",
  description: "Adds a line to a file, then waits",
  handler: async (call) => {
    ran(call);
    call.log("counted");
    await after(call.args.ms ?? 0);
    return { n: call.args.n };
  },
});
host.tool({
  name: "count_safe",
  description: "The same, and a repeat does no harm",
  idempotent: true,
  handler: async (call) => {
    ran(call);
    await after(call.args.ms ?? 0);
    return { n: call.args.n };
  },
});
host.tool({
  name: "wait",
  description: "Waits until it is stopped, and gives up",
  sideEffects: false,
  maxConcurrency: 2,
  handler: ({ id, signal }) =>
    new Promise((_, reject) => {
      tell({ waits: id });
      signal.addEventListener("abort", () => {
        tell({ stopped: id });
        reject(signal.reason);
      });
    }),
});
host.tool({
  name: "deaf",
  description: "Hears nothing",
  handler: async (call) => {
    ran(call);
    await after(call.args.ms);
    return { late: true };
  },
});
host.tool({
  name: "fail",
  description: "Fails as it is told",
  handler: ({ args }) => {
    if (args.code) throw new ToolError(args.code, "as it was told");
    throw new Error("secret of the host");
  },
});
host.tool({
  name: "big",
  description: "Gives so many bytes",
  sideEffects: false,
  handler: ({ args }) => "x".repeat(args.bytes),
});
host.tool({
  name: "steps",
  description: "Tells how far it is",
  sideEffects: false,
  handler: async (call) => {
    for (let i = 1; i <= 3; ++i) call.progress({ progress: i, total: 3, message: `${i}\nof 3` });
    await after(0);
    return "done";
  },
});
host.tool({
  name: "wrong",
  description: "Its result does not fit",
  sideEffects: false,
  outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  handler: () => ({ n: "one" }),
});

await host.start(listen);
tell({ ready: host.address, key: host.remoteKey });
process.stdin.resume();
process.stdin.on("end", async () => {
  await host.stop();
  process.exit(0); // although a handler that hears nothing may still be at it
});
