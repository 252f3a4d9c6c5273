import { EVIL } from "./tools";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const DAY = 86_400_000;

const token = (id: string, more: object = {}) => ({
  id,
  kind: "token",
  roles: ["device"],
  tenants: ["default"],
  created_at: ago(20 * DAY),
  expires_at: ago(-12 * DAY),
  revoked: false,
  ...more,
});

const row = (device: string, more: object) => ({
  device,
  name: device,
  principal: `device/${device}`,
  connected: false,
  connections: 0,
  tools: 0,
  tokens: [token(`t-${device}`)],
  last_seen_at: ago(7_200_000),
  ...more,
});

const devices = [
  row("phone", {
    connected: true,
    connections: 1,
    tools: 12,
    waiting_tools: ["take_photo", EVIL],
    battery: 0.8,
    charging: true,
    metered: false,
    foreground: true,
    refused_tools: [{ tool: "shell", code: "FORBIDDEN", reason: "a reserved name" }],
  }),
  row("laptop", { tools: 5 }),
  row("evil", { name: EVIL, last_seen_at: undefined, tokens: [token("k1", { kind: "key" })] }),
];

const callers = [
  { ...row("ci", {}), device: undefined, caller: "ci", principal: "caller/ci" },
  {
    ...row("old", { tokens: [token("t-old", { revoked: true })] }),
    device: undefined,
    caller: "old",
    principal: "caller/old",
  },
];

const whole = (slug: string) => {
  const found = devices.find(({ device }) => device === slug);
  return (
    found && {
      ...found,
      connections: found.connected ? [{ since: ago(60_000), address: "192.0.2.7" }] : [],
      tools: ["disk_usage", "read_thermometer"].map((name) => ({
        name,
        qualified_name: `${slug}__${name}`,
        effects: "none",
      })),
      rejected: [{ name: "shell", code: "FORBIDDEN", message: "a reserved name", at: ago(1_000) }],
      waiting: [
        {
          name: "take_photo",
          before: {
            description: "Takes a picture.",
            effects: "declared",
            schema: { type: "object", properties: { width: { type: "integer" } } },
          },
          description: `Takes a picture. ${EVIL}`,
          effects: "none",
          schema: { type: "object", properties: { width: { type: "integer" }, all: {} } },
        },
        { name: EVIL, description: EVIL, schema: { type: "object", description: EVIL } },
      ],
    }
  );
};

const QR = Array.from({ length: 25 }, (_, y) =>
  Array.from({ length: 25 }, (_, x) => ((x * y + x + y) % 3 === 0 ? "1" : "0")).join(""),
);

let pairings = 0;
function pair(body: { token?: boolean; device?: string }) {
  if (body.token) return { token: "a".repeat(64), token_id: "t9", roles: ["caller"] };
  pairings += 1;
  // The device comes by itself, as it would.
  const slug = `tablet-${pairings}`;
  setTimeout(() => {
    devices.push(row(slug, { connected: true, tools: 3 }));
  }, 8_000);
  return {
    id: `p${pairings}`,
    code: "5809-8061-5827",
    expires_at: ago(-300_000),
    roles: ["device"],
    gateway: "wss://home.example:42617",
    pages: [
      { url: "http://127.0.0.1:42617/device/#pair=5809-8061-5827", reach: "loopback", tls: false },
      {
        url: "https://home.example:42617/device/#pair=5809-8061-5827",
        reach: "name",
        tls: true,
        qr: QR,
      },
    ],
  };
}

export const deviceRoutes = {
  "GET /api/v1/admin/devices": () => ({ devices, callers }),
  "GET /api/v1/admin/devices/:slug": ({ slug }: { slug: string }) => whole(slug),
  "PATCH /api/v1/admin/devices/:slug": ({ slug }: { slug: string }) => whole(slug),
  "POST /api/v1/admin/devices/pair": (_: unknown, __: unknown, body: object) => pair(body),
  "POST /api/v1/admin/devices/approve": () => ({ approved: ["take_photo"] }),
  "POST /api/v1/admin/devices/revoke": () => ({ revoked: 1 }),
  "DELETE /api/v1/admin/pairings/:id": () => ({}),
};
