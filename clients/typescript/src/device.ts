import { Backoff } from "./backoff.js";
import { base64Of } from "./base64.js";
import { type CallEnd, type CallNews, CallRunner } from "./call-runner.js";
import type { Consent } from "./consent.js";
import {
  capabilities,
  type ClientFrame,
  type Json,
  parseServerFrame,
  plainTerms,
  type Presence,
  type Rejected,
  type ServerFrame,
  type Terms,
} from "./frames.js";
import { GatewayAddress } from "./gateway-address.js";
import { Outbox } from "./outbox.js";
import { SeenCalls } from "./seen-calls.js";
import {
  defaultPlatform,
  type Socket,
  type SocketConstructor,
  type Platform,
} from "./platform.js";
import { TokenRefused, type TokenSource } from "./token-source.js";
import { toElement, type Tool, type ToolCall, type ToolResult } from "./tool.js";
import { uploadResult } from "./upload.js";

export interface DeviceOptions {
  /** `https://host:42617`; see {@link GatewayAddress}. */
  gateway: string;
  /**
   * From {@link pair}, or from the operator; or a source of tokens, such as a {@link DeviceKey}.
   */
  token: string | TokenSource;
  /** For people and for `<device>__<tool>`. */
  name: string;
  /** See {@link GatewayAddress.parse}; default false. */
  allowPlain?: boolean;
  /** May a call run? Default: all may. */
  consent?: Consent;
  /** Called on every change; must not throw. */
  onEvent?: (event: DeviceEvent) => void;
  /** Every step of every call. */
  onCall?: (news: CallNews) => void;
  /** For Node before 22. */
  webSocket?: SocketConstructor;
  /** Calls that run at the same time; default 8. */
  parallelCalls?: number;
  /** Calls that wait for those; default 64. Beyond it the caller reads `RATE_LIMITED`. */
  queuedCalls?: number;
  /** For tests. */
  platform?: Platform;
}

/** What a device reports while it runs. */
export type DeviceEvent =
  | { kind: "connecting" }
  /** The gateway has registered the tools. */
  | { kind: "connected"; tools: number; rejected: Rejected[] }
  /** The connection broke; the device reconnects in that many milliseconds. */
  | { kind: "lost"; why: string; retryInMs: number }
  /** A notice from the gateway, for logs. */
  | { kind: "notice"; message: string }
  | { kind: "ended"; end: DeviceEnd };

/** Why a device ended. */
export interface DeviceEnd {
  /**
   * `stopped`: stop(). `closed_by_gateway`: with code 1000, do not reconnect by yourself.
   * `refused`: the token or key is not valid.
   */
  reason: "stopped" | "closed_by_gateway" | "refused";
  message: string;
}

const gatherChangesMs = 100;
const probeAfterMs = 30_000; // of silence; the gateway's pings are not to be seen from here
const deadAfterMs = 15_000; // without an answer to the probe
const usualTimeoutMs = 30_000; // of a request that names no deadline
const longestRetryAfterMs = 3_600_000;
// replies without an acknowledgement, where the gateway resumes calls; then twice that, …
const sendAgainMs = 5_000;
const sendAgainAtMostMs = 60_000;
// replies after a break: the gateway may notice it later than this side
const keepForResumeMs = 600_000;
const dialMs = 15_000; // for a token, the connection and, where there is none, the reason
const tokenExpired = 4401;
const noPong = 4408;

/**
 * A device whose tools a gateway can call: it dials in, registers them, answers calls, and
 * reconnects when the link breaks.
 *
 *     const device = new Device({ gateway: "https://crab.example:42617", token, name: "Kitchen" });
 *     device.tool({
 *       name: "read_thermometer",
 *       description: "Room temperature in Celsius",
 *       handler: () => ({ celsius: 21.5 }),
 *     });
 *     device.start();
 *
 * Source: docs/protocols/clawseed.md, section 10; the same states as the C++ client's.
 */
export class Device {
  private readonly address: GatewayAddress;
  private readonly platform: Platform;
  private readonly tools = new Map<string, Tool>();
  private readonly backoff: Backoff;
  private readonly outbox = new Outbox();
  private readonly seen = new SeenCalls();
  private readonly instance: string;
  private readonly calls: CallRunner;
  private name: string;
  private state: "idle" | "dialing" | "open" | "waiting" | "ended" = "idle";
  private socket: Socket | undefined;
  private attempts = 0; // events of earlier ones are ignored
  private terms: Terms = plainTerms;
  private token: string | undefined;
  private tokenIsNew = false; // the last one was refused, and no link has opened since
  private presence: Presence | undefined;
  private sessionId = "";
  private termsKnown = false;
  private announced = false;
  private lastHeard = 0;
  private probing = false;
  private cancelRedial: () => void = () => {}; // and the limit of the attempt under way
  private cancelGather: (() => void) | undefined;
  private cancelLiveness: () => void = () => {};
  private cancelSendAgain: (() => void) | undefined;

  constructor(private readonly options: DeviceOptions) {
    this.name = options.name;
    this.address = GatewayAddress.parse(options.gateway, options);
    this.platform = options.platform ?? defaultPlatform(options.webSocket);
    this.backoff = new Backoff(() => this.platform.random());
    this.instance = Array.from({ length: 4 }, () =>
      Math.floor(this.platform.random() * 2 ** 32).toString(16),
    ).join("-");
    this.calls = new CallRunner(
      this.platform,
      {
        reply: (id, end) => this.reply(id, end),
        pack: (call, result) => this.pack(call, result),
        uploads: () => this.terms.uploads,
        progress: (id, news) => {
          if (this.speaks("tool_call_progress"))
            this.send({ type: "tool_call_progress", id, ...news });
        },
        news: (news) => options.onCall?.(news),
      },
      {
        parallel: options.parallelCalls ?? 8,
        queued: options.queuedCalls ?? 64,
        consent: options.consent,
      },
    );
  }

  /**
   * Adds a tool or replaces the one of that name; sent on a live link within 100 ms. Throws a
   * TypeError for what no gateway accepts.
   */
  tool(tool: Tool): void {
    toElement(tool);
    this.tools.set(tool.name, tool);
    this.toolsChanged();
  }

  /** Takes a tool away; calls that run finish. */
  removeTool(name: string): void {
    if (this.tools.delete(name)) this.toolsChanged();
  }

  /** Connects and serves. Does nothing while it runs; after an end it starts anew. */
  start(): void {
    if (this.state === "idle" || this.state === "ended") this.dial();
  }

  /** Closes the connection with 1000 and cancels running calls. */
  stop(): void {
    if (this.state === "idle" || this.state === "ended") return;
    this.calls.cancelAll();
    const socket = this.letGo();
    this.end({ reason: "stopped", message: "stopped" });
    socket?.close(1000, "goodbye");
  }

  /**
   * Gives the device another name. The gateway hears it with the next connection, which is made at
   * once unless calls run.
   */
  rename(name: string): void {
    if (name === this.name) return;
    this.name = name;
    if (this.state !== "open" || this.calls.busy()) return;
    const socket = this.letGo();
    this.outbox.linkBroke(this.keepUntil());
    this.dial();
    socket?.close(1000, "another name");
  }

  /**
   * Reports this device's state, for callers that choose a device. Replaces the previous report.
   */
  setPresence(presence: Presence): void {
    if (JSON.stringify(presence) === JSON.stringify(this.presence)) return;
    this.presence = presence;
    this.sendPresence();
  }

  /**
   * The network may have changed, or the page woke up: a lost link is dialled at once, a live one
   * is probed.
   */
  networkChanged(): void {
    this.backoff.networkChanged();
    if (this.state === "waiting") this.dial();
    else if (this.state === "open") this.probe();
  }

  // Getting a link

  private dial(): void {
    this.cancelRedial();
    this.state = "dialing";
    ++this.attempts;
    this.cancelRedial = this.platform.after(dialMs, () => {
      const socket = this.letGo();
      this.retry("the gateway does not answer");
      socket?.close();
    });
    this.tell({ kind: "connecting" });
    if (typeof this.options.token === "string") this.token = this.options.token;
    if (this.token === undefined) void this.fetchToken();
    else this.openSocket(this.token);
  }

  private async fetchToken(): Promise<void> {
    const isCurrent = this.thisAttempt();
    try {
      const token = await (this.options.token as TokenSource).token();
      if (isCurrent()) this.openSocket((this.token = token));
    } catch (thrown) {
      if (!isCurrent()) return;
      if (thrown instanceof TokenRefused) this.endRefused(thrown.message);
      else this.retry("the gateway does not answer");
    }
  }

  private openSocket(token: string): void {
    const socket = this.platform.openSocket(this.address.endpoint(this.sessionId), [
      "clawseed.v1",
      `bearer.${token}`,
    ]);
    this.socket = socket;
    socket.onopen = () => this.onOpen();
    socket.onmessage = (event: { data: unknown }) => {
      if (typeof event.data === "string") this.onText(event.data);
    };
    socket.onclose = (event: { code: number; reason: string }) =>
      this.onClosed(event.code, event.reason);
    socket.onerror = () => {}; // a close follows
  }

  private onOpen(): void {
    const now = this.platform.now();
    this.cancelRedial();
    this.state = "open";
    // The last link's terms hold until this gateway has said its own: calls that run, and replies
    // that are kept, go by them. Frames that it may not know wait; see speaks().
    this.termsKnown = this.announced = this.tokenIsNew = false;
    this.backoff.linkOpened(now);
    const connect: ClientFrame = {
      type: "connect",
      v: 1,
      device_name: this.name,
      instance: this.instance,
      capabilities,
    };
    if (this.sessionId !== "") connect.session_id = this.sessionId;
    this.send(connect);
    this.send({ type: "register_tools", tools: [...this.tools.values()].map(toElement) });
    for (const frame of this.outbox.linkOpened(now)) this.socket?.send(frame);
    this.lastHeard = now;
    this.probing = false;
    this.watch();
  }

  private onClosed(code: number, reason: string): void {
    const opened = this.state === "open";
    this.letGo();
    if (!opened) {
      void this.askWhyRefused();
      return;
    }
    const now = this.platform.now();
    this.backoff.linkLost(now);
    this.outbox.linkBroke(this.keepUntil());
    if (code === 1000) {
      this.calls.cancelAll();
      const message = reason || "the gateway closed the connection";
      this.end({ reason: "closed_by_gateway", message });
    } else if (code === tokenExpired) {
      this.onTokenRefused("the gateway no longer takes this device's token; pair it again");
    } else {
      this.retry(
        code === 1006
          ? "the link broke"
          : `the gateway closed the link with ${code}${reason && `: ${reason}`}`,
      );
    }
  }

  /**
   * A browser hides why a WebSocket was refused, so a plain request with the same token is sent.
   */
  private async askWhyRefused(): Promise<void> {
    const isCurrent = this.thisAttempt();
    let retryAfterMs = 0;
    let why = "the gateway does not answer";
    try {
      const response = await this.platform.fetch(this.address.route("/api/status"), {
        headers: { Authorization: `Bearer ${this.token ?? ""}` },
      });
      if (!isCurrent()) return;
      if (response.status === 401 || response.status === 403) {
        this.onTokenRefused(`the gateway refuses this device (${response.status}); pair it again`);
        return;
      }
      why = response.ok
        ? "the gateway refused the connection"
        : `the gateway answers ${response.status}`;
      retryAfterMs = Number(response.headers.get("Retry-After") ?? 0) * 1000 || 0;
    } catch {
      // not reachable: tried again below
    }
    if (isCurrent()) this.retry(why, Math.min(retryAfterMs, longestRetryAfterMs));
  }

  /**
   * Replaces the token if it can be replaced, at once and then with the usual waits; otherwise ends
   * the device.
   */
  private onTokenRefused(why: string): void {
    if (typeof this.options.token === "string") {
      this.endRefused(why);
      return;
    }
    this.token = undefined;
    if (this.tokenIsNew) this.retry(why);
    else {
      this.tokenIsNew = true;
      this.dial();
    }
  }

  private endRefused(message: string): void {
    this.calls.cancelAll();
    this.end({ reason: "refused", message });
  }

  /** Tells later whether that attempt is still the current one. */
  private thisAttempt(): () => boolean {
    const attempt = this.attempts;
    return () => this.state === "dialing" && this.attempts === attempt;
  }

  private retry(why: string, atLeastMs = 0): void {
    const wait = Math.max(this.backoff.next(), atLeastMs);
    this.state = "waiting";
    this.cancelRedial();
    this.cancelRedial = this.platform.after(wait, () => this.dial());
    this.tell({ kind: "lost", why, retryInMs: wait });
  }

  private end(end: DeviceEnd): void {
    this.state = "ended";
    this.cancelRedial();
    this.tell({ kind: "ended", end });
  }

  /** Detaches the socket, so that its events are ignored, and returns it. */
  private letGo(): Socket | undefined {
    const socket = this.socket;
    this.socket = undefined;
    this.cancelLiveness();
    this.cancelGather?.();
    this.cancelSendAgain?.();
    this.cancelGather = this.cancelSendAgain = undefined;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.onerror = () => {}; // one that is closed while it connects still reports an error
    }
    return socket;
  }

  // Liveness

  /** Probes the connection after a long silence. */
  private watch(): void {
    this.cancelLiveness();
    const silence = this.platform.now() - this.lastHeard;
    this.cancelLiveness = this.platform.after(probeAfterMs - silence, () => {
      if (this.platform.now() - this.lastHeard < probeAfterMs) this.watch();
      else this.probe();
    });
  }

  private probe(): void {
    if (this.probing) return;
    this.probing = true;
    const before = this.lastHeard;
    this.send({ type: "get_registered_tools" });
    this.cancelLiveness();
    this.cancelLiveness = this.platform.after(deadAfterMs, () => {
      this.probing = false;
      if (this.lastHeard !== before) {
        this.watch();
        return;
      }
      const socket = this.letGo();
      this.backoff.linkLost(this.platform.now());
      this.outbox.linkBroke(this.keepUntil());
      this.retry("the gateway stopped answering");
      socket?.close(noPong, "no answer");
    });
  }

  // Frames

  private onText(text: string): void {
    this.lastHeard = this.platform.now();
    const frame = parseServerFrame(text);
    if (frame) this.onFrame(frame);
  }

  private onFrame(frame: ServerFrame): void {
    switch (frame.type) {
      case "session_start":
        this.sessionId = frame.sessionId;
        return;
      case "connected":
        this.terms = frame.terms;
        this.termsKnown = true;
        this.sendPresence();
        this.sendAgainLater(sendAgainMs);
        return;
      case "tools_registered":
        for (const rejected of frame.rejected)
          this.tell({
            kind: "notice",
            message: `${rejected.name}: ${rejected.code}: ${rejected.message}`,
          });
        if (this.announced) return;
        this.announced = true;
        this.tell({ kind: "connected", tools: frame.registered, rejected: frame.rejected });
        return;
      case "registered_tools":
        return; // the answer to a probe
      case "tool_call_request":
        this.onRequest(frame);
        return;
      case "tool_call_cancel":
        this.calls.cancel(frame.id);
        return;
      case "result_acknowledged":
        this.outbox.acknowledge(frame.id);
        return;
      case "error":
        this.tell({ kind: "notice", message: `${frame.code}: ${frame.message}` });
        return;
    }
  }

  private onRequest(request: Extract<ServerFrame, { type: "tool_call_request" }>): void {
    const { id, name, args, caller, traceparent } = request;
    // One run and one reply per request, however often the gateway sends it: it sends it again
    // after a break, and when it missed a frame.
    const kept = this.outbox.find(id);
    if (this.calls.has(id)) this.accept(id);
    else if (kept !== undefined && this.resumes()) this.socket?.send(kept);
    if (kept !== undefined || this.seen.has(id)) return;
    const tool = this.tools.get(name);
    if (!tool) {
      this.reply(id, {
        ok: false,
        code: "TOOL_NOT_FOUND",
        message: `this device has no tool ${JSON.stringify(name)} any more; list the tools again`,
      });
      return;
    }
    this.seen.add(id);
    this.accept(id);
    const deadline = this.platform.now() + (request.deadlineMs ?? usualTimeoutMs);
    if (!this.calls.start({ id, name, args, caller, deadline, traceparent }, tool)) {
      this.reply(id, {
        ok: false,
        code: "RATE_LIMITED",
        message: "this device is busy with other calls; try again in a moment",
      });
    }
  }

  private accept(id: string): void {
    if (this.speaks("tool_call_accepted"))
      this.send({ type: "tool_call_accepted", id });
  }

  /** Uploads a result that is too large for a message, while the call still runs. */
  private async pack(call: ToolCall, result: ToolResult): Promise<CallEnd> {
    const { uploads } = call;
    const isBlob = result instanceof Blob;
    if (!uploads) return { ok: true, output: isBlob ? await inline(result) : result };
    const blob = isBlob ? result : blobOf(result);
    if (!isBlob && blob.size <= uploads.inlineBytes) return { ok: true, output: result };
    const gateway = {
      route: (path: string) => this.address.route(path),
      token: () => this.token ?? "",
    };
    return {
      ok: true,
      artifact: await uploadResult(
        { callId: call.id, blob, signal: call.signal, deadline: call.deadline },
        uploads,
        gateway,
        this.platform,
      ),
    };
  }

  private reply(id: string, end: CallEnd): void {
    let frame = toText(replyFrame(id, end));
    const bytes = new TextEncoder().encode(frame).length;
    if (bytes > this.terms.maxMessageBytes) {
      // it would close the link, again and again
      frame = toText(
        toolError(
          id,
          "OVERSIZE",
          `the result takes ${bytes} bytes, and ${this.terms.maxMessageBytes} are allowed; ask ` +
            "for less",
        ),
      );
    }
    const open = this.state === "open";
    if (open) this.socket?.send(frame);
    this.outbox.add(id, frame, open ? undefined : this.keepUntil());
    this.sendAgainLater(sendAgainMs);
  }

  /** Until when a reply that cannot be sent now is worth keeping. */
  private keepUntil(): number {
    return (
      this.platform.now() +
      (this.resumes() ? Math.max(this.terms.graceMs, keepForResumeMs) : this.terms.graceMs)
    );
  }

  /**
   * A reply that is not acknowledged in time may have been lost on a live link, by a faulty proxy.
   */
  private sendAgainLater(ms: number): void {
    if (
      this.state !== "open" ||
      !this.resumes() ||
      this.cancelSendAgain ||
      this.outbox.unacknowledged().length === 0
    )
      return;
    this.cancelSendAgain = this.platform.after(ms, () => {
      this.cancelSendAgain = undefined;
      for (const frame of this.outbox.unacknowledged()) this.socket?.send(frame);
      this.sendAgainLater(Math.min(2 * ms, sendAgainAtMostMs));
    });
  }

  /** On this link; false before the gateway has said so. */
  private speaks(capability: string): boolean {
    return this.termsKnown && this.terms.capabilities.has(capability);
  }

  private resumes(): boolean {
    return this.terms.capabilities.has("tool_call_resume");
  }

  private sendPresence(): void {
    if (this.presence && this.speaks("presence"))
      this.send({ type: "presence", ...this.presence });
  }

  // Tools

  private toolsChanged(): void {
    if (this.state !== "open" || this.cancelGather) return;
    this.cancelGather = this.platform.after(gatherChangesMs, () => {
      this.cancelGather = undefined;
      if (!this.termsKnown) {
        this.toolsChanged(); // whether lists can be replaced comes with `connected`
        return;
      }
      const frame: ClientFrame = {
        type: "register_tools",
        tools: [...this.tools.values()].map(toElement),
      };
      if (this.speaks("register_tools.replace")) frame.replace = true;
      this.send(frame);
    });
  }

  private send(frame: ClientFrame): void {
    if (this.state === "open") this.socket?.send(toText(frame));
  }

  private tell(event: DeviceEvent): void {
    this.options.onEvent?.(event);
  }
}

function replyFrame(id: string, end: CallEnd): ClientFrame {
  if (!end.ok) return toolError(id, end.code, end.message);
  if ("artifact" in end) return { type: "tool_result", id, artifact: end.artifact, success: true };
  return { type: "tool_result", id, output: end.output, success: true };
}

/** Bytes for a gateway without uploads. */
async function inline(blob: Blob): Promise<Json> {
  return {
    content_type: blob.type || "application/octet-stream",
    base64: base64Of(await blob.arrayBuffer()),
  };
}

function blobOf(result: Json): Blob {
  return typeof result === "string"
    ? new Blob([result], { type: "text/plain;charset=utf-8" })
    : new Blob([JSON.stringify(result)], { type: "application/json" });
}

function toolError(id: string, code: string, message: string): ClientFrame {
  return { type: "tool_error", id, error: `${code}: ${message}`, success: false };
}

function toText(frame: ClientFrame): string {
  return JSON.stringify(frame);
}
