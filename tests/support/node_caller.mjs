// A caller of clients/typescript in Node, for tests: node_caller.mjs OPTIONS, which is JSON; the
// compiled package is in CRAB_DEVICE_PACKAGE. A line of JSON on standard input is an order, and
// what comes of it are lines with its `id`.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { ToolClient } = await import(
  pathToFileURL(`${process.env.CRAB_DEVICE_PACKAGE}/client/index.js`).href
);
const client = new ToolClient(JSON.parse(process.argv[2]));
const aborts = new Map();
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function* partsOf({ do: what, tool, args, options, id, enough }) {
  const signal = aborts.get(id).signal;
  switch (what) {
    case "list":
      return yield { tools: await client.list() };
    case "call":
      return yield { answer: await client.call(tool, args, { ...options, signal }) };
    case "cancel":
      return yield { status: await client.cancel(options.callId) };
    case "explain":
      return yield { record: await client.explain(options.callId) };
    case "policy":
      return yield { policy: await client.explainPolicy(tool, options.as, { args }) };
    case "artifact": {
      const { contentType, bytes } = await client.artifact(options.href);
      return yield { contentType, bytes: bytes.length };
    }
    case "stream":
      for await (const part of client.stream(tool, args, { ...options, signal })) {
        yield part.kind === "frame" ? { part: { ...part, data: `${part.data}` } } : { part };
        if (enough) return;
      }
  }
}

async function follow(order) {
  const { id } = order;
  aborts.set(id, new AbortController());
  try {
    for await (const part of partsOf(order)) tell({ id, ...part });
    tell({ id, end: true });
  } catch (error) {
    const { name, message, code, status, retryable, attempts, httpStatus, details } = error;
    const failure = { name, message, code, status, retryable, attempts, httpStatus, details };
    tell({ id, end: true, error: failure });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.do === "abort") aborts.get(order.id).abort();
  else void follow(order);
}
client.close();
