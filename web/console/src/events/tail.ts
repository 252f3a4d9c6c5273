import { signal } from "@preact/signals";

import { type Api, ApiError } from "../api";
import { follow } from "../follow";
import { eventsOf, type ServerEvent } from "../sse";
import type { Json } from "../try/schema";

export interface TailEvent {
  readonly cursor: string;
  readonly type: string;
  readonly at: string;
  readonly envelope: Json;
}

export interface Tailed {
  readonly state: "connecting" | "live" | "lost" | "refused";
  /** The newest first. */
  readonly events: readonly TailEvent[];
  /** Older ones that the page has let go. */
  readonly gone: number;
  /** Why it is not connected. */
  readonly error?: ApiError | undefined;
}

export const MOST_EVENTS = 1_000;
const DRAW_MS = 250;

function read({ event, data, id = "" }: ServerEvent): TailEvent {
  let envelope: Json = data;
  try {
    envelope = JSON.parse(data) as Json;
  } catch {
    // shown as the text that it is
  }
  const at = (envelope as { time?: unknown } | null)?.time;
  const text = typeof at === "string" ? at : new Date().toISOString();
  return { cursor: id, type: event, at: text, envelope };
}

/** The events of the gateway as they come, from a cursor on; a lost link goes on where it ended. */
export class Tail {
  readonly state = signal<Tailed>({ state: "connecting", events: [], gone: 0 });
  private stop = new AbortController();
  private cursor = "";
  private held: TailEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private now: (() => void) | undefined;

  constructor(private readonly api: Pick<Api, "open">) {}

  /** Anew: `types` as `cron.*,agent.*`; `cursor` empty for what comes from now on. */
  start(types: string, cursor: string): void {
    this.end();
    this.stop = new AbortController();
    this.cursor = cursor;
    this.state.value = { state: "connecting", events: [], gone: 0 };
    const connect = (signal: AbortSignal) => this.connect(types, signal);
    const onLost = (_: number, now: () => void, error: unknown) => {
      this.now = now;
      this.set({ state: "lost", error: error instanceof ApiError ? error : undefined });
    };
    const onRefused = (error: ApiError) => {
      this.now = () => this.start(types, cursor);
      this.set({ state: "refused", error });
    };
    void follow({ connect, onLost, onRefused }, this.stop.signal);
  }

  /** The next try, now. */
  again(): void {
    this.now?.();
  }

  end(): void {
    this.stop.abort();
    clearTimeout(this.timer);
    this.timer = undefined;
    this.held = [];
  }

  private set(change: Partial<Tailed>): void {
    this.state.value = { ...this.state.value, ...change };
  }

  private async connect(types: string, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ types: types || "*", remember: "false" });
    if (this.cursor !== "") query.set("cursor", this.cursor);
    const opening = { accept: "text/event-stream", signal };
    const { body } = await this.api.open(`/v1/events?${query}`, opening);
    this.set({ state: "live", error: undefined });
    if (body) for await (const event of eventsOf(body)) this.take(event);
  }

  private take(event: ServerEvent): void {
    if (event.event === "stream.closed") return;
    const found = read(event);
    if (found.cursor !== "") this.cursor = found.cursor;
    this.held.push(found);
    this.timer ??= setTimeout(() => this.draw(), DRAW_MS);
  }

  /** Four times a second at most, however many come. */
  private draw(): void {
    this.timer = undefined;
    const { events, gone } = this.state.value;
    const all = [...this.held.reverse(), ...events];
    this.held = [];
    const left = Math.max(0, all.length - MOST_EVENTS);
    this.set({ events: all.slice(0, MOST_EVENTS), gone: gone + left });
  }
}
