import { readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";

import type { PlainOptions } from "../plain-http.js";
import { type Endpoint, parseEndpoint } from "./endpoint.js";

/** A request that got no complete answer. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  constructor(
    message: string,
    /** Whether bytes of the request may have arrived. */
    readonly written: boolean,
    readonly reason: "failed" | "too_late" | "too_large" | "aborted" = "failed",
  ) {
    super(message);
  }
}

export interface HttpRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Until the answer is complete. */
  timeoutMs: number;
  maxBytes?: number;
  signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

/** The head of an answer, and its body as it comes. */
export interface OpenAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Ends with a {@link TransportError} unless the body was complete. */
  parts: AsyncGenerator<Buffer, void, void>;
  /** Closes the connection unless the answer was read to its end. */
  close(): void;
}

const usualMaxBytes = 64 << 20;

/**
 * Requests to one gateway over kept connections: TLS with the system's authorities or those of
 * `caFile`, or a Unix socket. Redirects are not followed, so that a credential goes nowhere else;
 * an answer is read up to its limit.
 */
export class HttpRequests {
  readonly endpoint: Endpoint;
  private readonly agent: http.Agent;

  constructor(gateway: string, caFile?: string, plain: PlainOptions = {}) {
    this.endpoint = parseEndpoint(gateway, plain);
    const kept = { keepAlive: true, maxFreeSockets: 8 };
    this.agent = this.endpoint.secure
      ? new https.Agent({ ...kept, ...(caFile !== undefined && { ca: readFileSync(caFile) }) })
      : new http.Agent(kept);
  }

  /** Sends a request and reads the whole answer. Throws a {@link TransportError}. */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.open(request);
    const parts: Buffer[] = [];
    for await (const part of answer.parts) parts.push(part);
    return { status: answer.status, headers: answer.headers, body: Buffer.concat(parts) };
  }

  /** Sends a request and returns as the answer begins. Throws a {@link TransportError}. */
  open(request: HttpRequest): Promise<OpenAnswer> {
    return new Promise((resolve, reject) => {
      let connected = false;
      let why: TransportError["reason"] = "failed";
      const { socketPath, host, port, prefix } = this.endpoint;
      const sent = (this.endpoint.secure ? https : http).request({
        ...(socketPath === undefined ? { host, port } : { socketPath }),
        agent: this.agent,
        method: request.method,
        path: prefix + request.path,
        headers: {
          ...request.headers,
          ...(request.body !== undefined && { "Content-Length": Buffer.byteLength(request.body) }),
        },
      });
      const give = (reason: TransportError["reason"]) => {
        why = reason;
        sent.destroy(new Error("given up"));
      };
      const onAbort = () => give("aborted");
      const timer = setTimeout(() => give("too_late"), Math.max(1, request.timeoutMs));
      const over = () => {
        clearTimeout(timer);
        request.signal?.removeEventListener("abort", onAbort);
      };
      const failure = (error: Error) => new TransportError(text(why, error), connected, why);
      sent.on("socket", (socket) => {
        const ready = this.endpoint.secure ? "secureConnect" : "connect";
        if (sent.reusedSocket || !socket.connecting) connected = true;
        else socket.once(ready, () => (connected = true));
      });
      sent.once("error", (error) => {
        over();
        reject(failure(error));
      });
      sent.once("response", (answer) => {
        const limit = request.maxBytes ?? usualMaxBytes;
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          parts: bounded(answer, limit, give, failure, over),
          close: () => {
            over();
            if (!answer.complete) sent.destroy();
          },
        });
      });
      if (request.signal?.aborted) give("aborted");
      else request.signal?.addEventListener("abort", onAbort, { once: true });
      sent.end(request.body);
    });
  }

  /** Closes kept connections. */
  close(): void {
    this.agent.destroy();
  }
}

async function* bounded(
  answer: http.IncomingMessage,
  limit: number,
  give: (reason: TransportError["reason"]) => void,
  failure: (error: Error) => TransportError,
  over: () => void,
): AsyncGenerator<Buffer, void, void> {
  let size = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > limit) {
        give("too_large");
        throw new Error("too large");
      }
      yield part;
    }
    if (!answer.complete) throw new Error("the connection ended within the answer");
  } catch (error) {
    throw failure(error as Error);
  } finally {
    over();
    if (!answer.complete) answer.destroy();
  }
}

function text(why: TransportError["reason"], error: Error): string {
  switch (why) {
    case "too_late":
      return "the gateway did not answer in time";
    case "too_large":
      return "the gateway's answer is larger than its limit";
    case "aborted":
      return "the caller gave up";
    case "failed": {
      const code = (error as NodeJS.ErrnoException).code;
      return code === undefined ? error.message : `${error.message} (${code})`;
    }
  }
}
