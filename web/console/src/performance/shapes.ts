import { byOf } from "../waterfall";

export interface StatsRow {
  readonly key: string;
  readonly calls: number;
  readonly errors: number;
  readonly p50_us: number;
  readonly p95_us: number;
  readonly p99_us: number;
  /** Microseconds of a call in each stage, on the average. */
  readonly stage_us: Readonly<Record<string, number>>;
  /** The id of the call that took longest. */
  readonly slowest?: string;
  readonly slowest_us?: number;
}

export interface Stats {
  readonly rows: readonly StatsRow[];
  readonly left_out?: number;
}

export interface SeriesAnswer {
  /** When each minute began, in seconds since 1970. */
  readonly t: readonly number[];
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

export const SORTS = ["calls", "errors", "p50_us", "p95_us", "p99_us", "total"] as const;
export type Sort = (typeof SORTS)[number];

/** Microseconds that the calls of a row took together. */
export const totalOf = ({ calls, stage_us }: StatsRow): number =>
  calls * Object.values(stage_us).reduce((sum, one) => sum + one, 0);

/** The rows with the most of it first. */
export function sorted(rows: readonly StatsRow[], by: Sort): readonly StatsRow[] {
  const value = (row: StatsRow) => (by === "total" ? totalOf(row) : row[by]);
  return [...rows].sort((a, b) => value(b) - value(a));
}

export interface Split {
  readonly gateway: number;
  readonly person: number;
  readonly tool: number;
}

/** Parts of a call's time, together 1: what a person and a tool took, the rest is the gateway's. */
export function splitOf({ stage_us }: StatsRow): Split {
  const split = { gateway: 0, person: 0, tool: 0 };
  for (const [stage, us] of Object.entries(stage_us)) split[byOf(stage)] += us;
  const all = split.gateway + split.person + split.tool || 1;
  return { gateway: split.gateway / all, person: split.person / all, tool: split.tool / all };
}
