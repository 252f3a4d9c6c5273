import { EVIL } from "./tools";

const in_ms = (ms: number) => new Date(Date.now() + ms).toISOString();
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const peer = (component_id: string, more: object = {}) => ({
  component_type: "tool_host",
  component_id,
  endpoint: `https://${component_id}.example:42700`,
  mtls_cert_fingerprint: "5f0c".repeat(16),
  paired_at: in_ms(-30 * DAY),
  last_seen_at: in_ms(-60_000),
  status: "active",
  role: "tool_host",
  not_after: in_ms(212 * DAY),
  ...more,
});

const lease = (lease_id: string, owner: string, more: object = {}) => ({
  lease_id,
  owner_component_type: owner.split("/")[0],
  owner_component_id: owner.split("/")[1],
  tenant_id: "default",
  agent_id: "butler",
  session_id: "s1",
  capabilities_json: ["events.subscribe:*", EVIL],
  disconnect_bound: true,
  issued_at: in_ms(-HOUR),
  expires_at: in_ms(42 * 60_000),
  ...more,
});

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFUlEQVR4nGPU" +
  "WnGHARtgwio6aCUAO6IBoWUqBhEAAAAASUVORK5CYII=";

const artifact = (id: string, content_type: string, more: object = {}) => ({
  id,
  href: `/v1/artifacts/${id}`,
  content_type,
  bytes: 4_100_000,
  sha256: "00",
  tenant_id: "default",
  owner: "device/phone",
  tool: "take_photo",
  call_id: `call-${id}`,
  created_at: in_ms(-HOUR),
  expires_at: in_ms(6 * DAY),
  ...more,
});

const session = (session_id: string, more: object = {}) => ({
  session_id,
  created_at: in_ms(-DAY),
  last_activity: in_ms(-2 * HOUR),
  message_count: 14,
  ...more,
});

const server = (name: string, more: object = {}) => ({
  name,
  argv: ["npx", "-y", "@modelcontextprotocol/server-everything"],
  configured: true,
  origin: "",
  state: "ready",
  version: "2025-06-18",
  server: "everything 1.0",
  tools: 11,
  resources: 2,
  prompts: 4,
  held: 0,
  removed: 0,
  left_out: [],
  off_schema: 0,
  dropped: 0,
  ...more,
});

const servers = [
  server("everything", {
    held: 2,
    left_out: [{ name: EVIL, reason: "its name has characters that are not seen" }],
    off_schema: 3,
    off_schema_tool: "add",
    stderr: `Starting…\n${EVIL}\nlistening`,
  }),
  server("notes", {
    argv: undefined,
    url: "https://notes.example/mcp",
    configured: false,
    origin: "crab mcp add",
    state: "failing",
    error: "the server answers 401",
  }),
];

const changes = [
  {
    kind: "tool",
    name: "add",
    why: "changed",
    before: '{"description":"Adds two numbers","inputSchema":{"type":"object"}}',
    after: `{"description":${JSON.stringify(EVIL)},"inputSchema":{"type":"object"}}`,
    digest: "d1",
  },
  { kind: "prompt", name: EVIL, why: "new", before: "", after: '{"name":"x"}', digest: "d2" },
];

const health = {
  checks: [
    { id: "storage", state: "ok", text: "writes are durable" },
    { id: "certificate", state: "warn", text: "9 days left", fix: "Run crab tls renew." },
    { id: "device page", state: "fail", text: EVIL, fix: "Run crab tls init." },
  ],
  certificates: [{ name: "listen.tls", state: "warn", not_after: in_ms(9 * DAY) }],
  stores: [{ name: "audit.db", state: "ok", bytes: 52_000_000 }],
  hosts: [{ name: "tool_host/memory", state: "ready", tools: 4 }],
  models: [{ name: "local", state: "resting", resting_until: in_ms(60_000) }],
};

const entry = (key: string, value: unknown, more: object = {}) => ({ key, value, ...more });
const config = {
  path: "/etc/crab/gateway.yaml",
  loaded_at: in_ms(-DAY),
  entries: [
    entry("listen.public", "127.0.0.1:42617", { default: "127.0.0.1:42617", restart: true }),
    entry("listen.path_prefix", "/home", { default: "", line: 4, restart: true }),
    entry("calls.max_running", 512, { default: 256, line: 9 }),
    entry("models.local.url", EVIL, { line: 21 }),
    entry("models.local.key", undefined, { secret: true, line: 22 }),
    entry("audit.otlp_token", "", { secret: true }),
    entry("policy.deny", ["sms.*"], { default: [], line: 38 }),
  ],
};

const check = {
  problems: [{ line: 41, pointer: "/policy/rules/3", message: EVIL }],
  changes: [{ key: "calls.max_running", before: 512, after: 1024 }, "policy.deny"],
};

export const lookRoutes = {
  "GET /api/v1/peers": () => ({
    peers: [peer("memory"), peer("lights", { status: "inactive", problem: EVIL })],
  }),
  "GET /api/v1/leases": () => ({
    leases: [lease("9f2c0d11", "tool_host/memory"), lease("77aa", "local/1000")],
  }),
  "DELETE /api/v1/leases/:id": () => ({}),
  "POST /api/v1/leases/:id/renew": () => ({}),
  "PATCH /api/v1/peers/:type/:id": () => peer("memory"),
  "POST /api/v1/peers/:type/:id/revoke": () => peer("memory"),
  "POST /api/v1/peers/:type/:id/renew": () => peer("memory"),
  "GET /api/v1/artifacts": () => ({
    artifacts: [
      artifact("a1", "image/png"),
      artifact("a2", "image/svg+xml", { tool: EVIL }),
      artifact("a3", "text/html"),
      artifact("a4", "application/pdf"),
    ],
  }),
  "GET /api/v1/artifacts/:id": () => Buffer.from(PIXEL, "base64"),
  "DELETE /api/v1/artifacts/:id": () => ({}),
  "GET /api/api/sessions": () => ({
    sessions: [
      session("kitchen-7", { name: "Kitchen", persona: "butler" }),
      session("evil", { name: EVIL }),
      session("long", { name: "Long", message_count: 2_000 }),
    ],
  }),
  "PUT /api/api/sessions/:id": () => ({}),
  "DELETE /api/api/sessions/:id": () => ({}),
  "GET /api/v1/mcp/servers": () => ({ servers }),
  "GET /api/v1/mcp/servers/:name/diff": () => ({ changes }),
  "POST /api/v1/mcp/servers/:name/approve": () => ({ approved: ["add"] }),
  "GET /api/v1/admin/health": () => health,
  "GET /api/v1/admin/config": () => config,
  "POST /api/v1/admin/config/check": () => check,
  "POST /api/v1/admin/reload": () => ({ reloaded: true }),
};

/** What `GET /v1/events` sends, one every second. */
export const eventAt = (index: number) => ({
  event: ["cron.triggered", "agent.turn.ended", EVIL.replace(/\s/g, "_")][index % 3] ?? "",
  id: String(41 + index),
  data: { event_id: `e${index}`, time: in_ms(0), tenant_id: "default", payload: { text: EVIL } },
});
