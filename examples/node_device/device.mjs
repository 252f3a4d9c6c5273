// A thermometer in Node: node device.mjs https://crab.example:42617 Kitchen, with the token in
// CRAB_TOKEN.
import { Device, ToolError } from "@crab/device";

const [gateway, name] = process.argv.slice(2);
const rooms = { kitchen: 21.5, cellar: 12.0 };

const device = new Device({
  gateway,
  name,
  token: process.env.CRAB_TOKEN,
  // Node before 22 has none of its own
  webSocket: globalThis.WebSocket ?? (await import("ws")).WebSocket,
  onEvent: (event) => {
    console.log(event.kind);
    if (event.kind === "ended") process.exit(event.end.reason === "stopped" ? 0 : 1);
  },
});
device.tool({
  name: "read_thermometer",
  description: "Room temperature in Celsius",
  parameters: { type: "object", properties: { room: { type: "string" } }, required: ["room"] },
  annotations: { read_only: true, idempotent: true },
  handler: ({ args }) => {
    if (!(args.room in rooms))
      throw new ToolError(
        "INVALID_ARGS",
        `there is no ${args.room}; ask for ${Object.keys(rooms).join(" or ")}`,
      );
    return { celsius: rooms[args.room] };
  },
});
device.start();
process.on("SIGINT", () => device.stop());
