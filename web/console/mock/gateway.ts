import type { IncomingMessage, Server, ServerResponse } from "node:http";

import type { Plugin } from "vite";

import { approvals, remembered } from "./approvals";
import { auditRoutes } from "./audit";
import { chatRoutes, serveChat } from "./chat";
import { deviceRoutes } from "./devices";
import { hello, liveRoutes, streamTick } from "./live";
import { eventAt, lookRoutes } from "./look";
import { policyRoutes } from "./policy";
import { answerOf } from "./routes";
import { callEvents, check, diagnosis, tools, wholeTool } from "./tools";

const KEY = "mock-key";
const identity = {
  principal: "local/1000",
  roles: ["operator"],
  may: ["operate", "approve", "chat"],
  expires_at: "2100-01-01T00:00:00Z",
  version: "mock",
};

const status = {
  version: "mock",
  pid: 1,
  uptime_seconds: 93_784,
  public: "127.0.0.1:42617",
  admin: "/run/crab/admin.sock",
  state_dir: "/var/lib/crab",
  devices: 3,
  tools: 42,
  running_calls: 2,
  audit: { backlog_bytes: 0, lost_records: 0 },
  storage: "ok",
};

const ended = (index: number, more: object) => ({
  call_id: `c${index}`,
  time: "2026-01-01T12:01:07Z",
  front: "http",
  proof: "token",
  principal: "caller/ci",
  args_bytes: 31,
  ...more,
});

const running = (index: number, more: object) => ({
  call_id: `r${index}`,
  principal: "caller/ci",
  front: "http",
  started_at: "2026-01-01T12:00:00Z",
  running: true,
  ...more,
});

const calls = {
  running: [
    running(1, { tool: "sms.send", stage: "asked", elapsed_ms: 12_400 }),
    running(2, { tool: "render_video", stage: "dispatched", elapsed_ms: 184_000 }),
  ],
  recent: [
    ended(1, { tool: "disk_usage", agent: "butler", status: "ok", duration_us: 485 }),
    ended(2, {
      tool: "take_photo",
      status: "timeout",
      code: "TIMEOUT",
      message: "no answer in 30 s",
      duration_us: 30_000_112,
      source: "device/phone",
      decision: "allow",
      rule: "rule 3",
      approval: { state: "allowed", us: 4_100_000, by: "local/1000" },
      attempts: [{ us: 25_900_000, status: "timeout" }],
      timeline: {
        received_us: 12,
        authorized_us: 42,
        asked_us: 60,
        approved_us: 4_100_060,
        dispatched_us: 4_100_112,
        answered_us: 30_000_090,
        finished_us: 30_000_112,
      },
    }),
    ended(3, {
      tool: "photo\u202egpj.exe<img src=x onerror=alert(1)>",
      agent: "a\u200bb",
      status: "error",
      code: "FORBIDDEN",
      message: "line\nbreak \u001b[31m" + "long ".repeat(60),
      duration_us: 81_000,
    }),
  ],
};

const routes: Record<string, unknown> = {
  "GET /api/v1/admin/status": status,
  "GET /api/v1/admin/calls": calls,
  "GET /api/v1/admin/approvals": approvals,
  "GET /api/v1/admin/approvals/remembered": remembered,
  "POST /api/v1/admin/approvals/q1": approvals.approvals[0],
  "GET /session": identity,
  "POST /session": { ...identity, key: KEY },
  "DELETE /session": {},
};

/** What each page asks. */
const PAGES = {
  ...auditRoutes,
  ...liveRoutes,
  ...chatRoutes,
  ...lookRoutes,
  ...deviceRoutes,
  ...policyRoutes,
};

/** Answers that come bit by bit: a call, and what happens at the gateway. */
function stream(path: string, body: string, response: ServerResponse): boolean {
  const send = (event: string, data: object) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const streams = [
    "/api/v1/tools/call",
    "/api/v1/events",
    "/api/v1/admin/approvals/watch",
    "/api/v1/admin/stream",
  ];
  if (!streams.includes(path)) return false;
  response.setHeader("content-type", "text/event-stream");
  if (path === "/api/v1/admin/approvals/watch") {
    response.flushHeaders(); // nobody asks anything
    return true;
  }
  if (path === "/api/v1/admin/stream") {
    let index = 0;
    send("hello", hello());
    const timer = setInterval(() => {
      for (const [event, data] of streamTick(index)) send(event, data);
      index += 1;
    }, 250);
    response.on("close", () => clearInterval(timer));
    return true;
  }
  if (path === "/api/v1/events") {
    let index = 0;
    const next = () => {
      const { event, id, data } = eventAt(index++);
      response.write(`id: ${id}\n`);
      send(event, data);
    };
    next();
    const timer = setInterval(next, 1_000);
    response.on("close", () => clearInterval(timer));
    return true;
  }
  const { call_id } = JSON.parse(body) as { call_id: string };
  for (const [at, event, data] of callEvents(call_id))
    setTimeout(() => {
      send(event, data);
      if (event === "result") response.end();
    }, at);
  return true;
}

function known(method: string, path: string, query: string, body: string): unknown {
  if (path === "/api/v1/admin/tools") return tools(new URLSearchParams(query));
  if (path === "/api/v1/admin/tools/check") return check(JSON.parse(body) as object);
  if (path === "/api/v1/admin/diagnose") return diagnosis;
  const made = answerOf(PAGES, method, path, query, body);
  if (made !== undefined) return made;
  const named = /^\/api\/v1\/admin\/tools\/(.+)$/.exec(path)?.[1];
  return named === undefined ? routes[`${method} ${path}`] : wholeTool(decodeURIComponent(named));
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  next: () => void,
): Promise<void> {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  if (!path.startsWith("/api/") && !/^\/session(\/|$)/.test(path)) return next();
  const method = request.method ?? "";
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts).toString();
  const signing = path === "/session" && method === "POST";
  const signedIn = signing || request.headers["crab-console-key"] === KEY;
  if (signedIn && stream(path, body, response)) return;
  const found = known(method, path, query, body);
  response.statusCode = !signedIn ? 401 : found === undefined ? 404 : 200;
  response.setHeader("content-type", "application/json");
  const refused = signedIn
    ? { error: "the mock has no such route", code: "NOT_FOUND" }
    : { error: "sign in again", code: "UNAUTHENTICATED" };
  if (Buffer.isBuffer(found)) response.end(found);
  else response.end(JSON.stringify(response.statusCode === 200 ? found : refused));
}

/** What the gateway sends with the page; under `npx vite` Vite's own scripts would break it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; " +
  "media-src blob:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types crab-worker";

function guarded(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  response.setHeader("content-security-policy", POLICY);
  void answer(request, response, next);
}

/** A gateway for `npx vite` and `npx vite preview` with one of everything; any code signs in. */
export const mockGateway = (): Plugin => ({
  name: "crab-mock-gateway",
  configureServer: (server) => void server.middlewares.use((...of) => void answer(...of)),
  configurePreviewServer: (server) => {
    server.middlewares.use(guarded);
    serveChat(server.httpServer as Server);
  },
});
