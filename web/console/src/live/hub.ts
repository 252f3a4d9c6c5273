import { batch, signal } from "@preact/signals";

import { clockAhead, now as gatewayNow } from "@crab/web-shared/now";
import type { Link } from "@crab/web-shared/link-state";

import type { Api, ApiError } from "../api";
import { follow } from "../follow";
import { eventsOf } from "../sse";
import { type Live, nothing, told } from "./state";

const NAME = "crab-console-stream";
const TOPICS = "status,calls,running,device,tools,question";
const RATE = 20; // rows a second
const DRAW_MS = 250;
/** A tab says this often that it is seen; one that is silent for longer is not. */
const SAY_MS = 10_000;
const FORGOTTEN_MS = 25_000;

/** What tabs of this browser tell each other. */
type Word =
  | { readonly kind: "event"; readonly event: string; readonly data: unknown }
  | { readonly kind: "link"; readonly link: Link }
  | { readonly kind: "state"; readonly live: Live; readonly link: Link }
  | { readonly kind: "try" }
  | { readonly kind: "seen"; readonly tab: string; readonly seen: boolean };

interface Place {
  readonly locks: Pick<LockManager, "request"> | undefined;
  readonly channel: (() => BroadcastChannel) | undefined;
  readonly hidden: () => boolean;
}

const here = (): Place => ({
  locks: navigator.locks,
  channel: typeof BroadcastChannel === "undefined" ? undefined : () => new BroadcastChannel(NAME),
  hidden: () => document.hidden,
});

/**
 * What the gateway tells by itself, one stream a browser: the tab that holds a lock reads it and
 * passes it on, and another takes over when that one goes. While no tab is seen it asks for no
 * rows. What is drawn changes four times a second at most.
 */
export class LiveHub {
  readonly live = signal<Live>(nothing);
  readonly link = signal<Link>({ state: "connecting" });
  /** The gateway has no such stream, or refuses it: pages read again and again instead. */
  readonly refused = signal(false);
  private now: Live = nothing;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private channel: BroadcastChannel | undefined;
  private holds = false;
  private retry: () => void = () => undefined;
  private reconnect = new AbortController();
  private readonly tab = crypto.randomUUID();
  private readonly seenAt = new Map<string, number>();

  constructor(
    private readonly api: Pick<Api, "open">,
    private readonly place: () => Place = here,
  ) {}

  /** Begins; the answer ends it. */
  start(): () => void {
    const place = this.place();
    const stop = new AbortController();
    this.refused.value = false;
    this.channel = place.channel?.();
    if (this.channel) this.channel.onmessage = ({ data }) => this.hear(data as Word);
    const say = () => this.saySeen(!place.hidden());
    const saying = setInterval(say, SAY_MS);
    globalThis.document?.addEventListener("visibilitychange", say);
    say();
    const hold = () => this.hold(stop.signal);
    if (!place.locks || !this.channel) void hold();
    // refused only once it has ended
    else place.locks.request(NAME, { signal: stop.signal }, hold).catch(() => undefined);
    return () => {
      stop.abort();
      this.reconnect.abort();
      clearInterval(saying);
      globalThis.document?.removeEventListener("visibilitychange", say);
      this.channel?.close();
      this.channel = undefined;
      this.holds = false;
      this.set({ state: "connecting" });
    };
  }

  /** The next try now, of whichever tab tries. */
  tryNow(): void {
    if (this.holds) this.retry();
    else this.tell({ kind: "try" });
  }

  private set(link: Link): void {
    this.link.value = link;
  }

  private tell(word: Word): void {
    this.channel?.postMessage(word);
  }

  private saySeen(seen: boolean): void {
    this.tell({ kind: "seen", tab: this.tab, seen });
    this.noteSeen(this.tab, seen);
  }

  private anySeen(): boolean {
    return [...this.seenAt.values()].some((at) => Date.now() - at < FORGOTTEN_MS);
  }

  /** A change of who looks changes what is asked for. */
  private noteSeen(tab: string, seen: boolean): void {
    const before = this.anySeen();
    if (seen) this.seenAt.set(tab, Date.now());
    else this.seenAt.delete(tab);
    if (!this.holds) return;
    if (tab !== this.tab) this.tell({ kind: "state", live: this.now, link: this.link.value });
    if (before !== this.anySeen()) this.reconnect.abort();
  }

  private hear(word: Word): void {
    if (word.kind === "seen") return this.noteSeen(word.tab, word.seen);
    if (this.holds) return word.kind === "try" ? this.retry() : undefined;
    if (word.kind === "try") return;
    if (word.kind === "event") this.take(word.event, word.data);
    else {
      if (word.kind === "state" && word.live.epoch !== this.now.epoch) this.draw(word.live);
      this.set(word.link);
    }
  }

  private async hold(signal: AbortSignal): Promise<void> {
    this.holds = true;
    await follow(
      {
        connect: (stop) => this.connect(stop),
        onLost: (inMs, now) => {
          this.retry = now;
          const lost = this.link.value.state === "lost" ? this.link.value.since : gatewayNow();
          this.link.value = { state: "lost", since: lost, nextAt: gatewayNow() + inMs };
          this.tell({ kind: "link", link: this.link.value });
        },
        onRefused: (error: ApiError) => {
          this.refused.value = error.status !== 401;
        },
      },
      signal,
    );
  }

  /** One stream after the other, as long as each ends only because another one is wanted. */
  private async connect(signal: AbortSignal): Promise<void> {
    for (let again = true; again && !signal.aborted;) {
      this.reconnect = new AbortController();
      const wanted = this.reconnect.signal;
      const end = () => this.reconnect.abort();
      signal.addEventListener("abort", end);
      try {
        await this.read(wanted);
        again = false;
      } catch (error) {
        if (!wanted.aborted || signal.aborted) throw error;
      } finally {
        signal.removeEventListener("abort", end);
      }
    }
  }

  private async read(signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ topics: TOPICS, rate: String(this.anySeen() ? RATE : 0) });
    const opening = { accept: "text/event-stream", signal };
    const { body } = await this.api.open(`/v1/admin/stream?${query}`, opening);
    this.set({ state: "live" });
    this.tell({ kind: "link", link: this.link.value });
    if (!body) return;
    for await (const { event, data } of eventsOf(body)) {
      const parsed: unknown = JSON.parse(data);
      this.take(event, parsed);
      this.tell({ kind: "event", event, data: parsed });
    }
    signal.throwIfAborted();
  }

  private take(event: string, data: unknown): void {
    this.now = told(this.now, event, data, Date.now());
    this.timer ??= setTimeout(() => this.draw(this.now), DRAW_MS);
  }

  private draw(live: Live): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.now = live;
    batch(() => {
      this.live.value = live;
      clockAhead.value = live.ahead;
    });
  }
}
