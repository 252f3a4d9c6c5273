import { microseconds, parseFilter, type Term } from "../call-filter";

/** Parameters of a search that a filter may name as they are. */
const TEXTS = [
  "tool",
  "principal",
  "agent",
  "session",
  "source",
  "status",
  "code",
  "decision",
  "rule",
  "event",
  "front",
  "trace_id",
] as const;
export const AUDIT_FIELDS: readonly string[] = [...TEXTS, "from", "to", "min"];

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Milliseconds since 1970 of `7d` (ago), `22:00` (the last time that it was), `2026-01-31` or a
 * whole RFC 3339 time; undefined if it is none of them.
 */
export function timeOf(text: string, now: number): number | undefined {
  const ago = /^(\d{1,4})([mhdw])$/.exec(text);
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0);
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (clock) {
    const day = new Date(now);
    day.setHours(Number(clock[1]), Number(clock[2]), 0, 0);
    if (day.getTime() > now) day.setDate(day.getDate() - 1);
    return day.getTime();
  }
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/.test(text)) return undefined;
  const at = Date.parse(text.length === 10 ? `${text}T00:00` : text);
  return Number.isNaN(at) ? undefined : at;
}

function set(query: URLSearchParams, { field, values }: Term, now: number): void {
  const [first = ""] = values;
  if (field === "from" || field === "to") {
    const at = timeOf(first, now);
    if (at !== undefined) query.set(field, new Date(at).toISOString());
  } else if (field === "min") {
    const least = microseconds(first);
    if (least !== undefined) query.set("min_us", String(Math.round(least)));
  } else if (values.length > 0) {
    query.set(field, values.join(","));
  }
}

/** A written filter as parameters of a search; words are looked for together. */
export function queryOf(filter: string, now: number): URLSearchParams {
  const query = new URLSearchParams();
  const words: string[] = [];
  for (const term of parseFilter(filter, AUDIT_FIELDS))
    if (term.field === "text") words.push(...term.values);
    else set(query, term, now);
  if (words.length > 0) query.set("q", words.join(" "));
  return query;
}
