// A tool host of clients/typescript behind mutual TLS, for tests: node_paired_host.mjs LISTEN ID
// GATEWAY_KEY STATE; the compiled package is in CRAB_DEVICE_PACKAGE. It prints what `crab host`
// prints, and offers tools of the memory host's names, which remember nothing.
import { pathToFileURL } from "node:url";

const { ToolHost } = await import(
  pathToFileURL(`${process.env.CRAB_DEVICE_PACKAGE}/host/index.js`).href
);
const [listen, id, gatewayKey, stateDir] = process.argv.slice(2);
const host = new ToolHost("memory");
const description = "For tests";
host.tool({ name: "memory.append", description, handler: ({ args }) => args });
host.tool({ name: "memory.delete", description, idempotent: true, handler: () => ({}) });
host.tool({
  name: "memory.query",
  description,
  sideEffects: false,
  timeoutMs: 60_000,
  handler: ({ args, signal }) =>
    args.wait
      ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
      : { entries: [] },
});
process.exit(await host.serve({ listen, id, gatewayKey, stateDir }));
