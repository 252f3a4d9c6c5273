import { signal } from "@preact/signals";

import { type Api, ApiError } from "../api";
import { follow } from "../follow";
import { sessionPath } from "../sessions/shapes";
import type { JsonObject } from "../try/schema";
import { added, asked, type AskItem, type Chat, emptyChat, received, restored } from "./frames";

export type LinkNow =
  | { readonly state: "connecting" | "live" }
  | { readonly state: "ended" }
  | { readonly state: "lost"; readonly since: number; readonly nextAt: number }
  | { readonly state: "refused"; readonly error: ApiError };

/** Where a WebSocket is opened, as the browser's constructor does it. */
type Open = (address: string, protocols: string[]) => WebSocket;

const CAPABILITIES = ["ask_user", "tool_call.call_id", "detached_turns"];
const DRAW_MS = 16;
const SESSION_OVER = 4401;

/** The address of the chat's WebSocket beside the page. */
export function chatAddress(page: string, sessionId: string, agent: string): string {
  const address = new URL("./api/ws/chat", page);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.search = "";
  address.hash = "";
  address.searchParams.set("session_id", sessionId);
  if (agent !== "") address.searchParams.set("persona", agent);
  return address.toString();
}

/**
 * One chat session over a WebSocket of its own, opened by a ticket that is good once. What is said
 * is drawn once a frame. A link that breaks is made anew; what was missed is read.
 */
export class ChatLink {
  readonly chat = signal<Chat>(emptyChat(""));
  readonly link = signal<LinkNow>({ state: "connecting" });
  /** What is typed and not sent. */
  readonly draft = signal("");
  private now: Chat;
  private socket: WebSocket | undefined;
  private readonly stop = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private since = 0;
  private retry: () => void = () => undefined;

  constructor(
    private readonly api: Pick<Api, "get" | "ticket">,
    private readonly sessionId: string,
    private readonly agent: string,
    private readonly open: Open = (address, protocols) => new WebSocket(address, protocols),
  ) {
    this.now = emptyChat(sessionId);
    this.chat.value = this.now;
  }

  start(): void {
    const onLost = (inMs: number, now: () => void) => {
      this.since ||= Date.now();
      this.retry = now;
      this.link.value = { state: "lost", since: this.since, nextAt: Date.now() + inMs };
    };
    const onRefused = (error: ApiError) => (this.link.value = { state: "refused", error });
    const connect = (signal: AbortSignal) => this.connect(signal);
    void follow({ connect, onLost, onRefused }, this.stop.signal);
  }

  /** The next try now. */
  tryNow(): void {
    this.retry();
  }

  end(): void {
    this.stop.abort();
    this.socket?.close(1000);
    clearTimeout(this.timer);
  }

  /** Sends what was typed; false while there is no link, and then it stays in the draft. */
  say(content: string): boolean {
    if (!this.send({ type: "message", content })) return false;
    this.set(added({ ...this.now, running: true }, { kind: "user", text: content }));
    return true;
  }

  /** The last answer once more. */
  again(): boolean {
    return this.send({ type: "regenerate" });
  }

  abort(): boolean {
    return this.send({ type: "abort" });
  }

  /** Answers a question of the agent; undefined declines it. */
  answer({ ids }: AskItem, answer: unknown): void {
    const status = answer === undefined ? "declined" : "accepted";
    const said = answer === undefined ? {} : { answer: answer as JsonObject };
    if (this.send({ type: "ask_user_response", ...ids, status, ...said }))
      this.set(asked(this.now, "sent", ids.request_id));
  }

  private send(frame: object): boolean {
    if (this.link.value.state !== "live" || this.socket?.readyState !== 1) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  private set(chat: Chat): void {
    this.now = chat;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.chat.value = this.now;
    }, DRAW_MS);
  }

  /** What was said before, and what was missed; a session that is new has nothing. */
  private async restore(): Promise<void> {
    const path = `${sessionPath(this.sessionId)}/messages`;
    try {
      const { messages } = await this.api.get<{ messages: [] }>(path);
      this.set(restored(this.now, messages));
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
    }
  }

  private async connect(signal: AbortSignal): Promise<void> {
    if (!this.now.running) await this.restore();
    const ticket = await this.api.ticket();
    if (signal.aborted) return;
    const address = chatAddress(location.href, this.sessionId, this.agent);
    const socket = this.open(address, [`crab-ticket.${ticket}`, "clawseed.v1"]);
    this.socket = socket;
    await new Promise<void>((done, fail) => {
      socket.onopen = () => {
        this.since = 0;
        this.link.value = { state: "live" };
        this.send({ type: "connect", device_name: "console", capabilities: CAPABILITIES });
      };
      socket.onmessage = ({ data }) => this.take(String(data));
      socket.onclose = ({ code, reason }) => {
        if (code === SESSION_OVER) fail(new ApiError(401, "UNAUTHENTICATED", reason));
        else if (code === 1000 && !signal.aborted) this.closed(reason, done);
        else done();
      };
    });
  }

  /** Closed by the gateway for good. */
  private closed(_reason: string, done: () => void): void {
    this.link.value = { state: "ended" };
    this.stop.abort();
    done();
  }

  private take(data: string): void {
    try {
      this.set(received(this.now, JSON.parse(data) as JsonObject, Date.now()));
    } catch {
      // no frame of the gateway
    }
  }
}
