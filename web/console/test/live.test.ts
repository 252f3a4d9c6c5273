import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../src/api";
import { shownWords } from "../src/calls/shown";
import { linePath } from "../src/chart";
import { LiveHub } from "../src/live/hub";
import { type Live, nothing, told } from "../src/live/state";
import { type Entry, hits, isCallId, MOST_HITS, score } from "../src/palette/fuzzy";
import { sorted, splitOf, type StatsRow, totalOf } from "../src/performance/shapes";

const after = (...events: [string, unknown][]): Live =>
  events.reduce((live: Live, [event, data]) => told(live, event, data, 1_000), nothing);
const tick = (more: object) => ({
  interval_ms: 250,
  total: 0,
  p50_us: 0,
  p99_us: 0,
  rows: [],
  left_out: 0,
  ...more,
});
const hello: [string, unknown] = ["hello", { version: "1", now: "1970-01-01T00:00:03Z" }];

describe("what the stream tells", () => {
  it("is counted as the gateway counts it, the newest call first", () => {
    const rows = [{ call_id: "a" }, { call_id: "b" }];
    const live = after(
      hello,
      ["calls", tick({ total: 2_450, by_status: { ok: 2_401, error: 49 }, rows, left_out: 2_448 })],
      ["calls", tick({ rows: [{ call_id: "c" }], total: 1, by_status: { ok: 1 } })],
    );
    expect(live.rates[0]).toMatchObject({ perSecond: 9_800, failed: 0.02 });
    expect(live.rows.map(({ call_id }) => call_id)).toEqual(["c", "b", "a"]);
    expect(live.ahead).toBe(2_000);
  });

  it("a42: says how many calls there were, recorded or not, and how many are shown", () => {
    const rows = Array.from({ length: 5 }, (_, id) => ({ call_id: String(id) }));
    const ticks = [
      tick({ total: 2_447, unrecorded: 6, by_status: { ok: 2_447 }, rows, left_out: 2_442 }),
      tick({ total: 90, interval_ms: 500, by_status: { ok: 90 }, rows: rows.slice(3) }),
    ];
    const live = ticks.map((_, n) =>
      after(hello, ...ticks.slice(0, n + 1).map((each): [string, unknown] => ["calls", each])),
    );
    expect(live.map((each) => shownWords(each, 200, 1_000))).toEqual([
      "showing 20 of 9,812 calls a second, failures first",
      "showing 4 of 180 calls a second, failures first",
    ]);
    expect(shownWords(undefined, 200, 1_000)).toBe("showing 200 of the latest 1,000");
    const { rates = [] } = live[1] ?? {};
    const told = rates.map(({ perSecond }, n) => (perSecond * ticks[n]!.interval_ms) / 1_000);
    expect(told).toEqual([2_453, 90]); // what the metrics count
  });

  it("keeps no more than can be looked at", () => {
    let live = after(hello);
    for (let n = 0; n < 100; ++n) {
      const rows = Array.from({ length: 50 }, (_, i) => ({ call_id: `${n}-${i}` }));
      live = told(live, "calls", tick({ total: 50, rows }), n);
    }
    expect(live.rows).toHaveLength(500);
    expect(live.rates.length).toBeLessThanOrEqual(240);
  });

  it("knows which questions are open; a stream that begins anew tells them again", () => {
    const ask = (id: string): [string, unknown] => ["question", { id, state: "pending" }];
    const live = after(hello, ask("1"), ask("2"), ["end", { id: "1", state: "allowed" }]);
    expect([...live.questions]).toEqual(["2"]);
    expect(told(live, "hello", hello[1], 0).questions.size).toBe(0);
  });

  it("counts changes, so that pages read again, and passes over what it does not know", () => {
    const live = after(["device", {}], ["tools", { generation: 4 }], ["new", 1]);
    expect(live).toMatchObject({ devices: 1, tools: 1, epoch: 0 });
  });
});

/** A BroadcastChannel within this test. */
class Channel {
  static all: Channel[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;
  constructor() {
    Channel.all.push(this);
  }
  postMessage(data: unknown) {
    for (const other of Channel.all) if (other !== this) other.onmessage?.({ data });
  }
  close() {
    Channel.all = Channel.all.filter((one) => one !== this);
  }
}

/** Locks that one holds and the others wait for. */
function makeLocks() {
  let last: Promise<unknown> = Promise.resolve();
  const request = (_: string, { signal }: { signal: AbortSignal }, work: () => Promise<void>) => {
    last = last.then(() => (signal.aborted ? undefined : work()));
    return last;
  };
  return { request } as unknown as LockManager;
}

describe("one stream a browser", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    Channel.all = [];
  });
  afterEach(() => void vi.useRealTimers());

  const opened: { path: string; signal: AbortSignal; send: (text: string) => void }[] = [];
  const open = async (path: string, { signal }: { signal?: AbortSignal | undefined } = {}) => {
    let put: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (to) => void (put = to) });
    const send = (text: string) => put?.enqueue(new TextEncoder().encode(text));
    signal?.addEventListener("abort", () => put?.error(new Error("aborted")));
    opened.push({ path, signal: signal as AbortSignal, send });
    return new Response(body);
  };
  const tab = (locks: LockManager, seen: { hidden: boolean }) =>
    new LiveHub({ open }, () => ({
      locks,
      channel: () => new Channel() as unknown as BroadcastChannel,
      hidden: () => seen.hidden,
    }));
  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const settle = () => vi.advanceTimersByTimeAsync(300);

  it("is read by one tab and drawn by all; another takes over when that one goes", async () => {
    opened.length = 0;
    const locks = makeLocks();
    const [first, second] = [tab(locks, { hidden: false }), tab(locks, { hidden: false })];
    const endFirst = first.start();
    const endSecond = second.start();
    await settle();
    expect(opened).toHaveLength(1);
    opened[0]?.send(event("hello", { version: "1", now: new Date().toISOString() }));
    opened[0]?.send(event("device", {}));
    await settle();
    expect(first.live.value.devices).toBe(1);
    expect(second.live.value.devices).toBe(1);
    expect(second.link.value.state).toBe("live");
    endFirst();
    await settle();
    expect(opened).toHaveLength(2);
    opened[1]?.send(event("hello", { version: "1", now: new Date().toISOString() }));
    await settle();
    expect(second.live.value.epoch).toBe(2);
    endSecond();
  });

  it("asks for no rows while no tab is seen", async () => {
    opened.length = 0;
    const seen = { hidden: true };
    const end = tab(makeLocks(), seen).start();
    await settle();
    expect(opened[0]?.path).toContain("rate=0");
    seen.hidden = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(opened[0]?.signal.aborted).toBe(true);
    expect(opened[1]?.path).toContain("rate=20");
    end();
  });

  it("draws four times a second at most", async () => {
    opened.length = 0;
    const hub = tab(makeLocks(), { hidden: false });
    const end = hub.start();
    await settle();
    let drawn = 0;
    hub.live.subscribe(() => (drawn += 1));
    for (let n = 0; n < 200; ++n) {
      opened[0]?.send(event("calls", tick({ total: 1 })));
      await vi.advanceTimersByTimeAsync(5);
    }
    expect(drawn).toBeLessThanOrEqual(1 + 5);
    end();
  });

  it("says that there is none, so that pages read again and again", async () => {
    const refuse = () => Promise.reject(new ApiError(404, "NOT_FOUND", ""));
    const hub = new LiveHub({ open: refuse }, () => ({
      locks: undefined,
      channel: undefined,
      hidden: () => false,
    }));
    const end = hub.start();
    await settle();
    expect(hub.refused.value).toBe(true);
    end();
  });
});

describe("performance", () => {
  const row = (key: string, more: Partial<StatsRow>): StatsRow => ({
    key,
    calls: 1,
    errors: 0,
    p50_us: 0,
    p95_us: 0,
    p99_us: 0,
    stage_us: {},
    ...more,
  });

  it("is sorted by what was chosen", () => {
    const rows = [row("often", { calls: 9 }), row("slow", { stage_us: { answered: 100 } })];
    expect(sorted(rows, "calls")[0]?.key).toBe("often");
    expect(sorted(rows, "total")[0]?.key).toBe("slow");
    expect(totalOf(row("x", { calls: 3, stage_us: { a: 1, b: 2 } }))).toBe(9);
  });

  it("splits a call's time without a rest", () => {
    const split = splitOf(row("x", { stage_us: { received: 10, approved: 50, answered: 40 } }));
    expect(split).toEqual({ gateway: 0.1, person: 0.5, tool: 0.4 });
    expect(splitOf(row("x", {}))).toEqual({ gateway: 0, person: 0, tool: 0 });
  });

  it("draws a gap where there was no call", () => {
    expect(linePath([0, null, 2], 2)).toBe("M0.0 60.0M300.0 0.0");
    expect(linePath([], 1)).toBe("");
  });
});

describe("the palette", () => {
  const entry = (name: string): Entry => ({ kind: "page", name, run: () => undefined });

  it("finds by letters in their order, best where words begin", () => {
    expect(score("apr", "Approvals")).toBeDefined();
    expect(score("xyz", "Approvals")).toBeUndefined();
    const found = hits("du", [entry("a dull thing"), entry("disk_usage"), entry("sound")]);
    expect(found.map(({ name }) => name)).toEqual(["a dull thing", "disk_usage"]);
    expect(score("du", "disk_usage") ?? 0).toBeGreaterThan(score("ds", "a dull sound") ?? 0);
  });

  it("shows so many, and is quick among many", () => {
    const many = Array.from({ length: 20_000 }, (_, n) => entry(`tool_${n}`));
    const before = performance.now();
    expect(hits("t1", many)).toHaveLength(MOST_HITS);
    expect(performance.now() - before).toBeLessThan(500);
  });

  it("takes only what may be one for the id of a call", () => {
    expect(isCallId("0192f6c1-7a10-7c3e")).toBe(true);
    for (const other of ["short", "with space in it", "a/b/c/d/e/f/g"])
      expect(isCallId(other)).toBe(false);
  });
});
