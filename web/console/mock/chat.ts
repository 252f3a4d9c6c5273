import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

import { WebSocketServer } from "ws";

import { EVIL } from "./tools";

const ANSWER = `It is **21.5 degrees**, which is _warm enough_.

| room | now |
|---|---|
| kitchen | 21.5 |
| hall ${EVIL} | 18 |

- one \`thing\`
  - and another
1. first

\`\`\`sh
crab call read_thermometer '{"room":"kitchen"}'
\`\`\`

See [the manual](https://example.org/manual) or [bank.example](https://evil.example/x).
<img src=x onerror=alert(1)> [no](javascript:alert(1))
`;

/** A turn as the gateway sends it, with its times. */
const TURN: readonly (readonly [number, object])[] = [
  [0, { type: "agent_start", provider: "mock", model: "small" }],
  [100, { type: "thinking", content: "The kitchen has a thermometer." }],
  [300, { type: "tool_call", id: "t1", name: EVIL, args: { room: "kitchen" }, call_id: "a2" }],
  [700, { type: "tool_result", id: "t1", name: EVIL, output: `21.5\n${"long ".repeat(3_000)}` }],
  ...ANSWER.split(/(?<= )/).map(
    (content, index) => [800 + index * 20, { type: "chunk", content }] as const,
  ),
  [2_500, { type: "chunk_reset" }],
  [2_500, { type: "done", full_response: ANSWER }],
  [2_500, { type: "agent_end" }],
];

const sockets = new WebSocketServer({
  noServer: true,
  handleProtocols: (offered) => [...offered].find((one) => one.startsWith("crab-ticket.")) ?? false,
});

/** A chat for `npx vite preview`: each message starts the same turn. */
export function serveChat(server: Pick<Server, "on">): void {
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const address = new URL(request.url ?? "", "http://localhost");
    if (!address.pathname.endsWith("/api/ws/chat")) return;
    sockets.handleUpgrade(request, socket, head, (link) => {
      const send = (frame: object) => link.send(JSON.stringify(frame));
      const session_id = address.searchParams.get("session_id") ?? "s";
      send({ type: "session_start", v: 1, session_id, resumed: false, message_count: 0 });
      link.on("message", (data) => {
        const { type } = JSON.parse(String(data)) as { type?: string };
        if (type !== "message" && type !== "regenerate") return;
        for (const [at, frame] of TURN) setTimeout(() => send(frame), at);
      });
    });
  });
}

const messages = (n: number) =>
  Array.from({ length: n }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content: index % 2 ? ANSWER : `Question ${index}: ${EVIL}`,
    created_at: new Date().toISOString(),
  }));

const turn = (turn_id: string, more: object = {}) => ({
  turn_id,
  agent: "butler",
  event_id: "e1",
  event_type: "cron.triggered",
  session_id: "s1",
  begun_at: new Date(Date.now() - 60_000).toISOString(),
  ...more,
});

const turns = [
  turn("n1", { ended_at: new Date().toISOString(), end: "answer" }),
  turn("n2", { ended_at: new Date().toISOString(), end: "PROVIDER_ERROR", event_type: EVIL }),
  turn("n3"),
];

export const chatRoutes = {
  "POST /session/ticket": () => ({ ticket: "mock" }),
  "GET /api/api/sessions/:id/messages": ({ id }: { id: string }) =>
    id.startsWith("console-")
      ? undefined
      : {
          session_id: id,
          messages: messages(id === "long" ? 2_000 : 6),
          session_persistence: true,
        },
  "GET /api/api/agents": () => ({ agents: [{ name: "butler" }, { name: "night watch" }] }),
  "GET /api/v1/admin/agents": () => ({
    agents: [
      {
        name: "butler",
        tenant: "default",
        models: ["small", EVIL],
        events: ["cron.triggered"],
        tools: { allow: ["*"], deny: [] },
      },
    ],
    turns,
  }),
  "GET /api/v1/admin/agents/turns/:id": ({ id }: { id: string }) => ({
    turn: turns.find(({ turn_id }) => turn_id === id),
    messages: messages(2),
  }),
  "GET /api/v1/admin/agents/tools": () => ({
    agent: "butler",
    searched: true,
    visible: 3,
    visible_tokens: 900,
    offered_tokens: 300,
    max_tools: 64,
    max_tokens: 8_000,
    tools: ["read_thermometer", "sms.send", EVIL].map((name, index) => ({
      name,
      tokens: 100 + index,
      offered: index < 2,
    })),
  }),
};
