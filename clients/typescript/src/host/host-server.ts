import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { BadRequest } from "./call-request.js";
import type { CallEngine, Identity } from "./call-engine.js";
import { traceparentOf } from "../frames.js";
import { failed, toResponse } from "./outcome.js";

/** Who calls, or why nobody may on this connection. */
export type Admitted = { identity: string } | { status: 401 | 403; code: string; message: string };

/** What differs between the ways to reach a host. */
export interface Door {
  /** Connections are TLS. */
  secure?: boolean;
  admit(request: IncomingMessage): Admitted;
  /** Whether the path is for an upgrade alone. */
  pairs?: (path: string) => boolean;
  /** Takes an upgrade of the connection, if it is for this door. */
  upgrade?: (request: IncomingMessage, socket: Socket, head: Buffer) => boolean;
}

const mostConnections = 256;
const mostRefused = 64; // more connections, to be told that there is no room
const mostBodyBytes = 1 << 20;
const mostPrincipalChars = 128; // 32 are sent
const bodyMs = 10_000;
const lingerMs = 1_000;

/** For `createServer()`: limits of RTP, section 1. */
export const serverOptions: ServerOptions = {
  maxHeaderSize: 16 << 10,
  headersTimeout: 5_000,
  requestTimeout: 0, // the body has its own, which is answered in the form of a call
  connectionsCheckingInterval: 1_000,
  // a gateway keeps connections; one that ends as a request comes may lose a call
  keepAliveTimeout: 600_000,
};

const routes: Record<string, readonly string[]> = {
  "/healthz": ["GET"],
  "/v1/tools": ["GET"],
  "/v1/tools/call": ["POST"],
  "/v1/tools/cancel": ["POST"],
};

/** Answers the four routes of a tool host. Source: docs/protocols/rtp.md, sections 1 and 3. */
export class HostServer {
  private readonly connections = new Set<Socket>();
  private readonly shaking = new Set<Socket>();
  private stopping = false;

  constructor(
    private readonly server: Server,
    private readonly engine: CallEngine,
    private readonly door: Door,
  ) {
    server.maxConnections = mostConnections + mostRefused;
    const follow = (set: Set<Socket>) => (socket: Socket) => {
      set.add(socket);
      socket.once("close", () => set.delete(socket));
    };
    server.on("connection", follow(this.door.secure ? this.shaking : this.connections));
    if (this.door.secure) server.on("secureConnection", follow(this.connections));
    server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      void this.answer(request, response).catch(() => response.destroy());
    server.on("request", onRequest);
    server.on("checkContinue", onRequest);
    server.on("upgrade", (request, socket: Socket, head) => {
      socket.on("error", () => socket.destroy());
      if (!this.stopping && this.door.upgrade?.(request, socket, head)) return;
      socket.end("HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    });
  }

  /** Takes no more calls; those that run go on. */
  drain(): void {
    this.stopping = true;
  }

  /** Closes the listener and every connection, once it has sent what is under way. */
  close(): Promise<void> {
    this.stopping = true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        for (const socket of [...this.connections, ...this.shaking]) socket.destroy();
      }, lingerMs);
      this.server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      for (const socket of this.connections) socket.destroySoon();
    });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on("error", () => {});
    response.on("error", () => {});
    const path = request.url ?? "";
    const allowed = routes[path];
    const isCall = path === "/v1/tools/call";
    const refuse = (status: number, code: string, message: string, close = true) =>
      refuseRequest(response, { status, code, message, isCall, close });
    if (this.door.pairs?.(path) && request.method === "GET")
      return refuse(426, "INVALID_ARGS", "this path is for the WebSocket of a pairing");
    if (!allowed) return refuse(404, "NOT_FOUND", "there is no such path");
    if (request.method === "OPTIONS" || !allowed.includes(request.method ?? "")) {
      response.setHeader("Allow", [...allowed, "OPTIONS"].join(", "));
      if (request.method !== "OPTIONS")
        return refuse(405, "INVALID_ARGS", `use ${allowed.join(" or ")}`);
      response.writeHead(204).end();
      return;
    }
    if (request.headers.origin !== undefined)
      return refuse(403, "FORBIDDEN", "browsers do not call tool hosts: no Origin");
    if (path === "/healthz") {
      sendJson(response, this.stopping ? 503 : 200, JSON.stringify({ ok: !this.stopping }));
      return;
    }
    const admitted = this.door.admit(request);
    if ("status" in admitted) return refuse(admitted.status, admitted.code, admitted.message);
    if (this.connections.size > mostConnections || (this.stopping && isCall))
      return refuse(503, "DEPENDENCY_UNAVAILABLE", "this host is stopping or full; repeat it");
    if (path === "/v1/tools") return sendJson(response, 200, this.engine.discovery());
    const body = await readBody(request, response);
    if (body === "gone") return;
    if (body === "large") {
      const message = `a body has at most ${mostBodyBytes} bytes`;
      const refusal = { status: 413, code: "INVALID_ARGS", message, isCall, close: true };
      refuseRequest(response, refusal, request);
      return;
    }
    if (body === "slow") return refuse(408, "INVALID_ARGS", "the body did not come in time");
    const asking = { proven: admitted.identity, principal: principalOf(request) };
    if (isCall) return this.answerCall(asking, body, request, response);
    try {
      sendJson(response, 200, this.engine.cancel(asking, body));
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      refuse(error.status, "INVALID_ARGS", error.message, false);
    }
  }

  private async answerCall(
    asking: Identity,
    body: Buffer,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const traceparent = traceparentOf(request.headers["traceparent"]);
    if (!request.headers.accept?.includes("text/event-stream")) {
      const reply = await this.engine.call(asking, body, { traceparent });
      if (reply.replayed) response.setHeader("Crab-Replayed", "true");
      return sendJson(response, reply.http, reply.body);
    }
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.flushHeaders();
    const send = (type: string, data: string) =>
      response.write(`event: ${type}\ndata: ${data}\n\n`);
    const reply = await this.engine.call(asking, body, {
      traceparent,
      follower: {
        progress: (news) => {
          // a caller that does not read misses news, and costs no memory
          if (!response.writableNeedDrain && !response.destroyed)
            send("progress", JSON.stringify(news));
        },
      },
      onLeave: (leave) => response.once("close", leave),
    });
    send("result", reply.body);
    response.end();
  }
}

/** Bounded, since it becomes a part of keys. */
function principalOf({ headers }: IncomingMessage): string {
  return String(headers["crab-principal"] ?? "").slice(0, mostPrincipalChars);
}

async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Buffer | "large" | "slow" | "gone"> {
  if (Number(request.headers["content-length"] ?? 0) > mostBodyBytes) return "large";
  if (request.headers.expect !== undefined) response.writeContinue();
  const parts: Buffer[] = [];
  let size = 0;
  return new Promise((resolve) => {
    const timer = setTimeout(() => end("slow"), bodyMs);
    const end = (what: Buffer | "large" | "slow" | "gone") => {
      clearTimeout(timer);
      request.removeAllListeners("data");
      if (typeof what === "string") request.pause();
      resolve(what);
    };
    request.on("data", (part: Buffer) => {
      size += part.length;
      if (size > mostBodyBytes) end("large");
      else parts.push(part);
    });
    request.once("end", () => end(Buffer.concat(parts)));
    request.once("close", () => end("gone"));
  });
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  unread?: IncomingMessage,
): void {
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  });
  if (!unread) {
    response.end(body);
    return;
  }
  // A caller that still writes does not read the answer of a connection that is closed, so what it
  // writes is thrown away for a while.
  response.write(body);
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingerMs);
  unread.once("end", end);
  unread.once("close", end);
  unread.resume();
}

function refuseRequest(
  response: ServerResponse,
  refusal: { status: number; code: string; message: string; isCall: boolean; close: boolean },
  unread?: IncomingMessage,
): void {
  const { status, code, message, isCall } = refusal;
  if (refusal.close) response.setHeader("Connection", "close");
  if (!isCall)
    return sendJson(response, status, JSON.stringify({ error: message, code }), unread);
  const outcome = failed(status === 503 ? "UNAVAILABLE" : "INVALID_ARGS", message);
  if (outcome.error && status !== 503) outcome.error.code = code;
  sendJson(response, status, toResponse("", "", outcome), unread);
}
