import { EVIL } from "./tools";

const MINUTES = 60;
const wave = (at: number, most: number) => Math.round((most * (1 + Math.sin(at / 3))) / 2);

/** The events of `GET A/stream`, with the time of each; the last ones come again and again. */
export function streamTick(index: number): [string, object][] {
  const total = wave(index, 2_450);
  const errors = Math.round(total / 50);
  const row = (n: number, more: object) => ({
    call_id: `live-${index}-${n}`,
    time: new Date().toISOString(),
    tool: n === 1 ? EVIL : `tool_${n}`,
    principal: "caller/ci",
    duration_us: 485 + n,
    ...more,
  });
  const calls = {
    interval_ms: 250,
    total,
    unrecorded: 0,
    by_status: { ok: total - errors, error: errors },
    p50_us: 400,
    p99_us: 41_000,
    rows: [
      row(1, { status: "error", code: "TIMEOUT", message: "no answer" }),
      row(2, { status: "ok" }),
      row(3, { status: "ok" }),
    ],
    left_out: Math.max(0, total - 3),
  };
  const running = {
    count: 2,
    oldest: [
      {
        call_id: "r1",
        tool: "sms.send",
        principal: "caller/ci",
        stage: "asked",
        elapsed_ms: 12_400,
      },
      { call_id: "r2", tool: EVIL, principal: "caller/ci", stage: "dispatched", elapsed_ms: 900 },
    ],
  };
  return index % 4 === 0
    ? [
        ["calls", calls],
        ["running", running],
      ]
    : [["calls", calls]];
}

export const hello = () => ({ version: "mock", now: new Date().toISOString() });

const stats = (by: string) => ({
  window_minutes: 15,
  left_out: 3,
  rows: Array.from({ length: 12 }, (_, index) => ({
    key: index === 1 ? EVIL : `${by}_${index}`,
    calls: 9_000 - index * 700,
    errors: index * 3,
    p50_us: 400 + index * 90,
    p95_us: 4_000 + index * 900,
    p99_us: 41_000 - index * 1_000,
    stage_us: { received: 12, authorized: 30, approved: index * 500, answered: 900 },
    slowest: `a${index}`,
    slowest_us: 90_000,
  })),
});

export const liveRoutes = {
  "GET /api/v1/admin/stats": (_: unknown, query: URLSearchParams) => stats(query.get("by") ?? ""),
  "GET /api/v1/admin/series": () => ({
    t: Array.from({ length: MINUTES }, (_, index) => index * 60),
    series: {
      calls: Array.from({ length: MINUTES }, (_, index) => wave(index, 588_000)),
      errors: Array.from({ length: MINUTES }, (_, index) => wave(index * 7, 900)),
      p99_us: Array.from({ length: MINUTES }, (_, i) => (i % 20 < 3 ? null : wave(i, 41_000))),
    },
  }),
};
