import { Backoff } from "./backoff.js";
import { type CallEnd, type CallNews, CallRunner } from "./call-runner.js";
import type { Consent } from "./consent.js";
import { capabilities, type ClientFrame, parseServerFrame, plainTerms, type Rejected, type ServerFrame, type Terms } from "./frames.js";
import { GatewayAddress } from "./gateway-address.js";
import { Outbox } from "./outbox.js";
import { realSurroundings, type Socket, type SocketConstructor, type Surroundings } from "./surroundings.js";
import { toElement, type Tool } from "./tool.js";

export interface DeviceOptions {
  /** `https://host:42617`; see {@link GatewayAddress}. */
  gateway: string;
  /** From {@link pair}, or from the operator. */
  token: string;
  /** For people and for `<device>__<tool>`. */
  name: string;
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
  surroundings?: Surroundings;
}

/** What a device tells its owner while it runs. */
export type DeviceEvent =
  | { kind: "connecting" }
  /** The gateway has taken the tools. */
  | { kind: "connected"; tools: number; rejected: Rejected[] }
  /** The link is gone; it is tried again in that many milliseconds. */
  | { kind: "lost"; why: string; retryInMs: number }
  /** Something the gateway said, for logs. */
  | { kind: "notice"; message: string }
  | { kind: "ended"; end: DeviceEnd };

/** Why a device ended. */
export interface DeviceEnd {
  /** `stopped`: stop(). `sent_away`: closed with 1000, do not come back by yourself. `refused`: the token is no good. */
  reason: "stopped" | "sent_away" | "refused";
  message: string;
}

const gatherChangesMs = 100;
const probeAfterMs = 30_000; // of silence; the gateway's pings are not to be seen from here
const deadAfterMs = 15_000; // without an answer to the probe
const usualTimeoutMs = 30_000; // of a request that names no deadline
const longestRetryAfterMs = 3_600_000;
const tokenExpired = 4401;
const noPong = 4408;

/**
 * A device whose tools a gateway can call: it dials in, registers them, answers calls, and comes back when the link breaks.
 *
 *     const device = new Device({ gateway: "https://crab.example:42617", token, name: "Kitchen" });
 *     device.tool({ name: "read_thermometer", description: "Room temperature in Celsius", handler: () => ({ celsius: 21.5 }) });
 *     device.start();
 *
 * Source: docs/protocols/clawseed.md, section 10; the same states as the C++ client's.
 */
export class Device {
  private readonly address: GatewayAddress;
  private readonly surroundings: Surroundings;
  private readonly tools = new Map<string, Tool>();
  private readonly backoff: Backoff;
  private readonly outbox = new Outbox();
  private readonly calls: CallRunner;
  private state: "idle" | "dialing" | "open" | "waiting" | "ended" = "idle";
  private socket: Socket | undefined;
  private attempts = 0; // what belongs to an earlier one is not heard
  private terms: Terms = plainTerms;
  private sessionId = "";
  private termsKnown = false;
  private announced = false;
  private lastHeard = 0;
  private probing = false;
  private cancelRedial: () => void = () => {};
  private cancelGather: (() => void) | undefined;
  private cancelLiveness: () => void = () => {};

  constructor(private readonly options: DeviceOptions) {
    this.address = GatewayAddress.parse(options.gateway);
    this.surroundings = options.surroundings ?? realSurroundings(options.webSocket);
    this.backoff = new Backoff(() => this.surroundings.random());
    this.calls = new CallRunner(
      this.surroundings,
      {
        reply: (id, end) => this.reply(id, end),
        progress: (id, news) => {
          if (this.terms.capabilities.has("tool_call_progress")) this.send({ type: "tool_call_progress", id, ...news });
        },
        news: (news) => options.onCall?.(news),
      },
      { parallel: options.parallelCalls ?? 8, queued: options.queuedCalls ?? 64, consent: options.consent },
    );
  }

  /** Adds a tool or replaces the one of that name; a live link is told within 100 ms. Throws a TypeError for what no gateway takes. */
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

  /** Says goodbye and cancels running calls. */
  stop(): void {
    if (this.state === "idle" || this.state === "ended") return;
    this.calls.cancelAll();
    const socket = this.letGo();
    this.end({ reason: "stopped", message: "stopped" });
    socket?.close(1000, "goodbye");
  }

  /** There may be another network, or the page woke up: a lost link is dialled at once, a live one is tried out. */
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
    this.tell({ kind: "connecting" });
    const socket = this.surroundings.openSocket(this.address.endpoint(this.sessionId), ["clawseed.v1", `bearer.${this.options.token}`]);
    this.socket = socket;
    socket.onopen = () => this.onOpen();
    socket.onmessage = (event: { data: unknown }) => {
      if (typeof event.data === "string") this.onText(event.data);
    };
    socket.onclose = (event: { code: number; reason: string }) => this.onClosed(event.code, event.reason);
    socket.onerror = () => {}; // a close follows
  }

  private onOpen(): void {
    const now = this.surroundings.now();
    this.state = "open";
    this.termsKnown = this.announced = false;
    this.terms = plainTerms;
    this.backoff.linkOpened(now);
    const connect: ClientFrame = { type: "connect", v: 1, device_name: this.options.name, capabilities };
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
    const now = this.surroundings.now();
    this.backoff.linkLost(now);
    this.outbox.linkBroke(now + this.terms.graceMs);
    if (code === 1000) {
      this.calls.cancelAll();
      this.end({ reason: "sent_away", message: reason || "the gateway sent this device away" });
    } else if (code === tokenExpired) {
      this.calls.cancelAll();
      this.end({ reason: "refused", message: "the gateway no longer takes this device's token; pair it again" });
    } else {
      this.retry(code === 1006 ? "the link broke" : `the gateway closed the link with ${code}${reason && `: ${reason}`}`);
    }
  }

  /** A browser hides why a WebSocket was refused, so a plain request with the same token is asked. */
  private async askWhyRefused(): Promise<void> {
    const attempt = this.attempts;
    const isCurrent = () => this.state === "dialing" && this.attempts === attempt;
    let retryAfterMs = 0;
    let why = "the gateway does not answer";
    try {
      const response = await this.surroundings.fetch(this.address.route("/api/status"), { headers: { Authorization: `Bearer ${this.options.token}` } });
      if (!isCurrent()) return;
      if (response.status === 401 || response.status === 403) {
        this.calls.cancelAll();
        this.end({ reason: "refused", message: `the gateway refuses this device (${response.status}); pair it again` });
        return;
      }
      why = response.ok ? "the gateway refused the connection" : `the gateway answers ${response.status}`;
      retryAfterMs = Number(response.headers.get("Retry-After") ?? 0) * 1000 || 0;
    } catch {
      // not reachable: tried again below
    }
    if (isCurrent()) this.retry(why, Math.min(retryAfterMs, longestRetryAfterMs));
  }

  private retry(why: string, atLeastMs = 0): void {
    const wait = Math.max(this.backoff.next(), atLeastMs);
    this.state = "waiting";
    this.cancelRedial = this.surroundings.after(wait, () => this.dial());
    this.tell({ kind: "lost", why, retryInMs: wait });
  }

  private end(end: DeviceEnd): void {
    this.state = "ended";
    this.cancelRedial();
    this.tell({ kind: "ended", end });
  }

  /** From here on nothing that the socket does reaches us; returns it. */
  private letGo(): Socket | undefined {
    const socket = this.socket;
    this.socket = undefined;
    this.cancelLiveness();
    this.cancelGather?.();
    this.cancelGather = undefined;
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.onerror = () => {}; // one that is closed while it connects still has something to say
    }
    return socket;
  }

  // Signs of life

  /** Looks after the link when it has been silent for long. */
  private watch(): void {
    this.cancelLiveness();
    const silence = this.surroundings.now() - this.lastHeard;
    this.cancelLiveness = this.surroundings.after(probeAfterMs - silence, () => {
      if (this.surroundings.now() - this.lastHeard < probeAfterMs) this.watch();
      else this.probe();
    });
  }

  private probe(): void {
    if (this.probing) return;
    this.probing = true;
    const before = this.lastHeard;
    this.send({ type: "get_registered_tools" });
    this.cancelLiveness();
    this.cancelLiveness = this.surroundings.after(deadAfterMs, () => {
      this.probing = false;
      if (this.lastHeard !== before) {
        this.watch();
        return;
      }
      const socket = this.letGo();
      this.backoff.linkLost(this.surroundings.now());
      this.outbox.linkBroke(this.surroundings.now() + this.terms.graceMs);
      this.retry("the gateway fell silent");
      socket?.close(noPong, "no answer");
    });
  }

  // Frames

  private onText(text: string): void {
    this.lastHeard = this.surroundings.now();
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
        return;
      case "tools_registered":
        for (const rejected of frame.rejected) this.tell({ kind: "notice", message: `${rejected.name}: ${rejected.code}: ${rejected.message}` });
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
    const { id, name, args, caller } = request;
    if (this.calls.has(id) || this.outbox.holds(id)) return; // one reply per request
    const tool = this.tools.get(name);
    if (!tool) {
      this.reply(id, { ok: false, code: "TOOL_NOT_FOUND", message: `this device has no tool ${JSON.stringify(name)} any more; list the tools again` });
      return;
    }
    if (this.terms.capabilities.has("tool_call_accepted")) this.send({ type: "tool_call_accepted", id });
    const deadline = this.surroundings.now() + (request.deadlineMs ?? usualTimeoutMs);
    if (!this.calls.start({ id, name, args, caller, deadline }, tool)) {
      this.reply(id, { ok: false, code: "RATE_LIMITED", message: "this device is busy with other calls; try again in a moment" });
    }
  }

  private reply(id: string, end: CallEnd): void {
    let frame = toText(end.ok ? { type: "tool_result", id, output: end.output, success: true } : toolError(id, end.code, end.message));
    const bytes = new TextEncoder().encode(frame).length;
    if (bytes > this.terms.maxMessageBytes) { // it would close the link, again and again
      frame = toText(toolError(id, "OVERSIZE", `the result takes ${bytes} bytes, and ${this.terms.maxMessageBytes} are allowed; ask for less`));
    }
    const open = this.state === "open";
    if (open) this.socket?.send(frame);
    this.outbox.add(id, frame, open ? undefined : this.surroundings.now() + this.terms.graceMs);
  }

  // Tools

  private toolsChanged(): void {
    if (this.state !== "open" || this.cancelGather) return;
    this.cancelGather = this.surroundings.after(gatherChangesMs, () => {
      this.cancelGather = undefined;
      if (!this.termsKnown) {
        this.toolsChanged(); // whether lists can be replaced comes with `connected`
        return;
      }
      const frame: ClientFrame = { type: "register_tools", tools: [...this.tools.values()].map(toElement) };
      if (this.terms.capabilities.has("register_tools.replace")) frame.replace = true;
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

function toolError(id: string, code: string, message: string): ClientFrame {
  return { type: "tool_error", id, error: `${code}: ${message}`, success: false };
}

function toText(frame: ClientFrame): string {
  return JSON.stringify(frame);
}
