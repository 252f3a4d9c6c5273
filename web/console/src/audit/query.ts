import { microseconds, parseFilter, type Term } from "../call-filter";
import { timeOf } from "../written-time";

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
