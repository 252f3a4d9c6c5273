import type { Json, JsonObject } from "../frames.js";
import { HttpRequests, type OpenAnswer, TransportError } from "../node/http-requests.js";
import { readPrivateFile } from "../node/private-file.js";
import { uuid7 } from "../node/uuid7.js";
import { type CallContext, isJsonObject, longestCallMs, parsedJson, textOr } from "../rtp.js";
import { CallError } from "./call-error.js";
import {
  type CallAnswer,
  type CallRequest,
  readCallAnswer,
  readToolList,
  refusal,
  toCallBody,
  type ToolInfo,
} from "./call-wire.js";
import { EventStreamParser } from "./event-stream.js";

export interface ToolClientOptions {
  /**
   * `https://host:42617`, `http://127.0.0.1:42617`, or `unix:/run/user/1000/crab/admin.sock`, where
   * no token is needed.
   */
  gateway: string;
  /** A caller's token (`crab tokens create`). */
  token?: string;
  /** A file that holds it, mode 0600; read again when the gateway refuses what it held. */
  tokenFile?: string;
  /** `http:` beyond this machine, where something else encrypts; default false. */
  allowPlain?: boolean;
  /** Certificates of the authorities to trust (PEM); default: Node's. */
  caFile?: string;
  /** How often a call is repeated, under its id, when that is safe; default 5. */
  retries?: number;
  /** Claims that go with every call, unless the call has its own. */
  context?: Partial<CallContext>;
  tenantId?: string;
  /** Default 64 MiB. */
  maxReplyBytes?: number;
}

export interface CallOptions {
  /** 1 to 120000; default: the tool's own. */
  timeoutMs?: number;
  /** Repeats under an accepted key run once, for 24 hours. */
  idempotencyKey?: string;
  /** Default: a fresh UUID. The same id is the same call. */
  callId?: string;
  tenantId?: string;
  context?: Partial<CallContext>;
  /** How long to wait for a device that is away; 0 to 120000. */
  awayWaitMs?: number;
  /** Cancels the call. */
  signal?: AbortSignal;
  retries?: number;
}

/** A part of a streamed call; the last one is its answer. */
export type StreamPart<Result = JsonObject> =
  | { kind: "progress"; message?: string; progress?: number; total?: number }
  | { kind: "frame"; number: number; final: boolean; contentType: string; data: Uint8Array }
  | { kind: "result"; answer: CallAnswer<Result> };

/** What a policy says; `steps` are its rules, `then` what an allowed call meets next. */
export interface PolicyExplanation {
  verdict: "allow" | "deny" | "needs_approval";
  rule: string;
  steps: JsonObject[];
  then: JsonObject[];
}

const answerMarginMs = 5_000; // the gateway decides about timeouts; this is for one that is silent
const listingMs = 30_000;
const maxEventChars = 16 << 20;
const firstPauseMs = 100;
const longestPauseMs = 2_000;
const usualRetries = 5;
const longestWaitMs = 120_000;

/**
 * Calls tools through a gateway: over HTTP or HTTPS with a token, or on the gateway's machine
 * through its admin socket.
 *
 *     const client = new ToolClient({ gateway: "http://127.0.0.1:42617", tokenFile: "token" });
 *     const { result } = await client.call("disk_usage", { path: "/" });
 *
 * A call has one id however often it is sent, so that it runs once. It is sent again when the
 * gateway was not reached, went away or was busy, and never when a tool has failed or its outcome
 * is unknown. Source: docs/protocols/rtp.md, sections 2 to 4.
 */
export class ToolClient {
  private readonly requests: HttpRequests;
  private token: string | undefined;

  /** Throws for an address, a file or a token that cannot be used. */
  constructor(private readonly options: ToolClientOptions) {
    this.requests = new HttpRequests(options.gateway, options.caFile, options);
    if (options.token !== undefined) this.token = checked(options.token);
    else this.readToken();
  }

  /** The tools that this caller may call, sorted by name. */
  async list(): Promise<ToolInfo[]> {
    return readToolList(await this.ask("GET", "/v1/tools"));
  }

  /** Runs a tool. Throws a {@link CallError} for every outcome but a result. */
  async call<Result extends object = JsonObject>(
    tool: string,
    args: object = {},
    options: CallOptions = {},
  ): Promise<CallAnswer<Result>> {
    const attempts = this.attempts(tool, args, options);
    for (;;) {
      const answer = await attempts.run(async (body, timeoutMs) => {
        const reply = await this.post("/v1/tools/call", body, {
          ...options,
          accept: "application/json",
          timeoutMs,
        });
        return answerOf(reply, attempts);
      });
      if (answer) return answer as CallAnswer<Result>;
    }
  }

  /**
   * Runs a tool and gives progress and frames as they come, then the result. Leaving the loop early
   * cancels the call. Throws a {@link CallError} as {@link call} does.
   */
  async *stream<Result extends object = JsonObject>(
    tool: string,
    args: object = {},
    options: CallOptions = {},
  ): AsyncGenerator<StreamPart<Result>, void, void> {
    const attempts = this.attempts(tool, args, options);
    for (;;) {
      const reply = await attempts.run(async (body, timeoutMs) => {
        const open = await this.post("/v1/tools/call", body, {
          ...options,
          accept: "text/event-stream",
          timeoutMs,
        });
        if (`${open.headers["content-type"]}`.startsWith("text/event-stream")) return open;
        return answerOf(open, attempts);
      });
      if (reply === undefined) continue;
      if ("result" in reply) {
        yield { kind: "result", answer: reply as CallAnswer<Result> };
        return;
      }
      let frames = 0;
      let ended: StreamPart | undefined;
      try {
        for await (const part of streamParts(reply, attempts)) {
          if (part.kind === "result") {
            ended = part;
            break;
          }
          if (part.kind === "frame") ++frames;
          yield part;
        }
        if (ended === undefined) throw new TransportError("the stream ended early", true);
      } catch (error) {
        // a repeat may give other frames than those that were given on already
        await attempts.failed(error, frames > 0);
        continue;
      } finally {
        reply.close();
      }
      yield ended as StreamPart<Result>;
      return;
    }
  }

  /** Cancels a running call of this caller. */
  async cancel(
    callId: string,
    tenantId?: string,
  ): Promise<"cancelling" | "finished" | "not_found"> {
    const body = JSON.stringify({
      version: "v1",
      tenant_id: tenantId ?? this.options.tenantId ?? "default",
      call_id: callId,
      reason: "cancelled",
    });
    const answer = parsedJson(await this.ask("POST", "/v1/tools/cancel", body));
    const status = isJsonObject(answer) ? answer["status"] : undefined;
    return status === "cancelling" || status === "finished" ? status : "not_found";
  }

  /**
   * What became of a call, who made it and which rule allowed it: `crab calls show`. For the
   * operator, through the admin socket (`unix:…`).
   */
  async explain(callId: string): Promise<JsonObject> {
    return this.askAdmin("GET", `/v1/admin/calls/${encodeURIComponent(callId)}`);
  }

  /**
   * May this principal, such as `caller/ci`, call that tool, and which rule says so? Nothing is
   * called: `crab policy explain`. For the operator, as {@link explain}.
   */
  async explainPolicy(
    tool: string,
    principal: string,
    about: { args?: object; tenantId?: string } = {},
  ): Promise<PolicyExplanation> {
    const question = {
      as: principal,
      question: `call ${tool}`,
      ...(about.args && { args: about.args }),
      ...(about.tenantId !== undefined && { tenant: about.tenantId }),
    };
    const path = "/v1/admin/policy/explain";
    const answer = await this.askAdmin("POST", path, JSON.stringify(question));
    const { verdict, rule, steps, then } = answer;
    if (typeof verdict !== "string" || typeof rule !== "string" || !Array.isArray(steps))
      throw new TypeError("the gateway's answer cannot be read");
    return {
      verdict: verdict as PolicyExplanation["verdict"],
      rule,
      steps: steps as JsonObject[],
      then: Array.isArray(then) ? (then as JsonObject[]) : [],
    };
  }

  /** The bytes of a large result, from the `artifact.href` of an answer. */
  async artifact(href: string): Promise<{ contentType: string; bytes: Uint8Array }> {
    if (!/^\/v1\/artifacts\/[A-Za-z0-9._~%-]+$/.test(href))
      throw new TypeError("an artifact's href is /v1/artifacts/ and its id");
    const options = { accept: "*/*", timeoutMs: longestCallMs };
    const reply = await this.open("GET", href, undefined, options).catch(rethrown);
    const parts: Buffer[] = [];
    for await (const part of reply.parts) parts.push(part);
    const bytes = Buffer.concat(parts);
    if (reply.status !== 200) throw refusal(bytes.toString(), reply.status, none);
    return { contentType: reply.headers["content-type"] ?? "application/octet-stream", bytes };
  }

  /** Closes kept connections; the client may be used again. */
  close(): void {
    this.requests.close();
  }

  private attempts(tool: string, args: object, options: CallOptions): Attempts {
    const request: CallRequest = {
      callId: options.callId ?? uuid7(),
      tool,
      args,
      tenantId: options.tenantId ?? this.options.tenantId ?? "default",
      context: { ...this.options.context, ...options.context },
      idempotencyKey: options.idempotencyKey,
      timeoutMs: options.timeoutMs,
    };
    return new Attempts(request, {
      retries: options.retries ?? this.options.retries ?? usualRetries,
      waitMs: options.awayWaitMs ?? 0,
      signal: options.signal,
      cancel: () => void this.cancel(request.callId, request.tenantId).catch(() => {}),
    });
  }

  private post(
    path: string,
    body: string,
    options: { accept: string; timeoutMs: number } & Pick<CallOptions, "awayWaitMs" | "signal">,
  ): Promise<OpenAnswer> {
    return this.open("POST", path, body, options);
  }

  private async askAdmin(method: string, path: string, body?: string): Promise<JsonObject> {
    if (this.requests.endpoint.socketPath === undefined)
      throw new TypeError("an operator asks on the gateway's machine; use unix: and its socket");
    const answer = parsedJson(await this.ask(method, path, body));
    if (!isJsonObject(answer)) throw new TypeError("the gateway's answer cannot be read");
    return answer;
  }

  private async ask(method: string, path: string, body?: string): Promise<string> {
    const reply = await this.open(method, path, body, {
      accept: "application/json",
      timeoutMs: listingMs,
    }).catch(rethrown);
    const text = await textOf(reply).catch(rethrown);
    if (reply.status !== 200) throw refusal(text, reply.status, none);
    return text;
  }

  private async open(
    method: string,
    path: string,
    body: string | undefined,
    options: { accept: string; timeoutMs: number } & Pick<CallOptions, "awayWaitMs" | "signal">,
  ): Promise<OpenAnswer> {
    const sent = this.token;
    const reply = await this.send(method, path, body, options);
    if (reply.status !== 401 || this.options.tokenFile === undefined) return reply;
    try {
      if (this.token === sent) this.readToken(); // somebody may have put a new one there
    } catch {
      return reply; // the file is gone, or holds no token: the gateway's refusal says more
    }
    if (this.token === sent) return reply;
    reply.close();
    return this.send(method, path, body, options);
  }

  private send(
    method: string,
    path: string,
    body: string | undefined,
    options: { accept: string; timeoutMs: number } & Pick<CallOptions, "awayWaitMs" | "signal">,
  ): Promise<OpenAnswer> {
    const headers: Record<string, string> = { Accept: options.accept };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.token !== undefined) headers["Authorization"] = `Bearer ${this.token}`;
    if (options.awayWaitMs !== undefined)
      headers["Crab-Away-Wait-Ms"] = String(wholeMs(options.awayWaitMs));
    return this.requests.open({
      method,
      path,
      headers,
      ...(body !== undefined && { body }),
      timeoutMs: options.timeoutMs,
      maxBytes: this.options.maxReplyBytes ?? 64 << 20,
      signal: options.signal,
    });
  }

  private readToken(): void {
    if (this.options.tokenFile !== undefined)
      this.token = checked(readPrivateFile(this.options.tokenFile).trim());
  }
}

const none = { callId: "", tool: "" };

/** The attempts of one call: when there is another one, and what it ends with. */
class Attempts {
  readonly callId: string;
  readonly tool: string;
  private readonly body: string;
  private readonly end: number;
  private made = 0;
  private written = false;

  constructor(
    request: CallRequest,
    private readonly options: {
      retries: number;
      waitMs: number;
      signal: AbortSignal | undefined;
      cancel: () => void;
    },
  ) {
    this.callId = request.callId;
    this.tool = request.tool;
    this.body = toCallBody(request);
    this.end =
      Date.now() + (request.timeoutMs ?? longestCallMs) + wholeMs(options.waitMs) + answerMarginMs;
  }

  /** What the attempt gives; undefined: it is to be made again, after the wait that is over. */
  async run<T>(attempt: (body: string, timeoutMs: number) => Promise<T>): Promise<T | undefined> {
    if (this.options.signal?.aborted) throw this.failure("CANCELLED", "the caller gave up");
    ++this.made;
    try {
      return await attempt(this.body, this.end - Date.now());
    } catch (error) {
      await this.failed(error);
      return undefined;
    }
  }

  /** Returns, after a pause, when the call is to be sent again; throws otherwise. */
  async failed(error: unknown, final = false): Promise<void> {
    let afterMs = 0;
    let end: CallError;
    if (error instanceof CallError) {
      end = error;
      end.attempts = this.made;
      // a refusal by HTTP comes before the call is looked up, and says nothing of earlier attempts
      if (this.written && error.httpStatus !== 200) end = this.lost(error.message);
      if (!error.retryable) throw end;
      const after = error.details?.["retry_after_ms"];
      if (typeof after === "number" && after > 0) afterMs = after;
    } else if (error instanceof TransportError) {
      this.written ||= error.written;
      if (error.reason === "aborted") {
        this.options.cancel();
        throw this.failure("CANCELLED", "the caller gave up");
      }
      end = this.lost(error.message);
      if (error.reason === "too_large" || error.reason === "too_late") throw end;
    } else {
      throw error;
    }
    const pauseMs = Math.max(afterMs, this.pauseMs());
    if (final || this.made > this.options.retries || Date.now() + pauseMs >= this.end) throw end;
    await this.pause(pauseMs);
  }

  private lost(why: string): CallError {
    return this.written
      ? this.failure("OUTCOME_UNKNOWN", `${why}; the tool may or may not have run`)
      : this.failure("UNAVAILABLE", `the gateway was not reached, nothing was sent: ${why}`);
  }

  private failure(code: string, message: string): CallError {
    const { callId, tool } = this;
    const failure = new CallError({ code, message, callId, tool, status: "no_answer" });
    failure.attempts = this.made;
    return failure;
  }

  private pauseMs(): number {
    const most = Math.min(longestPauseMs, firstPauseMs * 2 ** (this.made - 1));
    return most / 2 + (Math.random() * most) / 2;
  }

  private pause(ms: number): Promise<void> {
    const { signal } = this.options;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        if (this.written) this.options.cancel();
        reject(this.failure("CANCELLED", "the caller gave up"));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}

async function* streamParts(
  reply: OpenAnswer,
  request: { callId: string; tool: string },
): AsyncGenerator<StreamPart, void, void> {
  const parser = new EventStreamParser(maxEventChars);
  for await (const bytes of reply.parts) {
    let events;
    try {
      events = parser.push(bytes);
    } catch (error) {
      throw new TransportError((error as Error).message, true, "too_large");
    }
    for (const { type, data } of events) {
      const part = partOf(type, data, request);
      if (part) yield part;
      if (part?.kind === "result") return;
    }
  }
}

function partOf(
  type: string,
  data: string,
  request: { callId: string; tool: string },
): StreamPart | undefined {
  if (type === "result") {
    const answer = readCallAnswer(data, { status: 200, replayed: false }, request);
    return { kind: "result", answer };
  }
  const body = parsedJson(data);
  if (!isJsonObject(body)) return undefined;
  if (type === "progress") {
    const { message, progress, total } = body;
    return {
      kind: "progress",
      ...(typeof message === "string" && { message }),
      ...(typeof progress === "number" && { progress }),
      ...(typeof total === "number" && { total }),
    };
  }
  if (type !== "frame") return undefined;
  return {
    kind: "frame",
    number: Number(body["frame_no"]) || 0,
    final: body["final"] === true,
    contentType: textOr(body["content_type"], ""),
    data: bytesOf(body["data"], body["data_base64"]),
  };
}

function bytesOf(text: Json | undefined, base64: Json | undefined): Uint8Array {
  return typeof base64 === "string" ? Buffer.from(base64, "base64") : Buffer.from(textOr(text, ""));
}

async function answerOf(
  reply: OpenAnswer,
  request: { callId: string; tool: string },
): Promise<CallAnswer> {
  const replayed = reply.headers["crab-replayed"] === "true";
  return readCallAnswer(await textOf(reply), { status: reply.status, replayed }, request);
}

async function textOf(reply: OpenAnswer): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of reply.parts) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

/** A token as it may stand in a header; the error does not repeat it. */
function checked(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new TypeError("a token is one line of visible ASCII characters");
  return token;
}

function wholeMs(ms: number): number {
  if (!Number.isInteger(ms) || ms < 0 || ms > longestWaitMs)
    throw new TypeError(`awayWaitMs: must be an integer from 0 to ${longestWaitMs}`);
  return ms;
}

function rethrown(error: unknown): never {
  if (!(error instanceof TransportError)) throw error;
  throw new CallError({
    ...none,
    code: "UNAVAILABLE",
    message: error.message,
    status: "no_answer",
  });
}
