import type { CallRecord, GatewayStatus, RunningCall } from "../store";

/** What the gateway told of calls in the last quarter of a second. */
export interface CallsTick {
  readonly interval_ms: number;
  readonly total: number;
  /** Calls beside those that left no record: nothing else is known of them. */
  readonly unrecorded?: number;
  readonly by_status?: Readonly<Record<string, number>>;
  readonly p50_us: number;
  readonly p99_us: number;
  readonly rows: readonly CallRecord[];
  readonly left_out: number;
}

export interface Rate {
  /** Milliseconds since 1970, by this browser. */
  readonly at: number;
  readonly perSecond: number;
  /** Of all that ended, those that did not well: 0 to 1. */
  readonly failed: number;
  readonly p99_us: number;
}

/** All that the stream has told. Counters rise with each word of their topic. */
export interface Live {
  /** How often a stream has begun: after each, what was read before may be old. */
  readonly epoch: number;
  readonly version: string;
  /** How far the gateway's clock is ahead, in milliseconds. */
  readonly ahead: number;
  readonly status?: GatewayStatus;
  readonly running: { readonly count: number; readonly oldest: readonly RunningCall[] };
  /** The newest first; a sample where there are many. */
  readonly rows: readonly CallRecord[];
  readonly rate?: Rate;
  readonly rates: readonly Rate[];
  /** Rows a second, of the latest tick. */
  readonly shown: number;
  readonly questions: ReadonlySet<string>;
  readonly asked: number;
  readonly devices: number;
  readonly tools: number;
}

export const nothing: Live = {
  epoch: 0,
  version: "",
  ahead: 0,
  running: { count: 0, oldest: [] },
  rows: [],
  rates: [],
  shown: 0,
  questions: new Set(),
  asked: 0,
  devices: 0,
  tools: 0,
};

const MOST_ROWS = 500;
/** A minute of ticks, for a sparkline. */
const MOST_RATES = 240;

function calls(live: Live, tick: CallsTick, now: number): Live {
  const ok = tick.by_status?.["ok"] ?? tick.total;
  const rate: Rate = {
    at: now,
    perSecond: ((tick.total + (tick.unrecorded ?? 0)) * 1_000) / Math.max(1, tick.interval_ms),
    failed: tick.total > 0 ? Math.max(0, tick.total - ok) / tick.total : 0,
    p99_us: tick.p99_us,
  };
  return {
    ...live,
    rows: [...[...tick.rows].reverse(), ...live.rows].slice(0, MOST_ROWS),
    rate,
    rates: [...live.rates, rate].slice(-MOST_RATES),
    shown: Math.round((tick.rows.length * 1_000) / Math.max(1, tick.interval_ms)),
  };
}

function question(live: Live, id: string, open: boolean): Live {
  const questions = new Set(live.questions);
  if (open) questions.add(id);
  else questions.delete(id);
  return { ...live, questions, asked: live.asked + 1 };
}

const idOf = (data: unknown): string => String((data as { id?: unknown }).id ?? "");

/** What is known after one more event of the stream; an unknown one changes nothing. */
export function told(live: Live, event: string, data: unknown, now: number): Live {
  switch (event) {
    case "hello": {
      const { version, now: at } = data as { version: string; now: string };
      const ahead = Date.parse(at) - now;
      const epoch = live.epoch + 1;
      return {
        ...live,
        epoch,
        version,
        ahead: Number.isFinite(ahead) ? ahead : 0,
        questions: new Set(),
      };
    }
    case "status":
      return { ...live, status: data as GatewayStatus };
    case "running":
      return { ...live, running: data as Live["running"] };
    case "calls":
      return calls(live, data as CallsTick, now);
    case "question":
      return question(live, idOf(data), (data as { state?: string }).state === "pending");
    case "end":
      return question(live, idOf(data), false);
    case "device":
    case "pairing":
      return { ...live, devices: live.devices + 1 };
    case "tools":
      return { ...live, tools: live.tools + 1 };
    default:
      return live;
  }
}
