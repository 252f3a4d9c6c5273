import { now } from "@crab/web-shared/now";

import type { CallRecord } from "./store";
import { timeOf } from "./written-time";

/** One condition of a filter, as it is written: `status:error,timeout`, or a word of a text. */
export interface Term {
  readonly field: string;
  readonly values: readonly string[];
  readonly written: string;
}

const TEXTS = ["tool", "principal", "agent", "session", "source"] as const;
const CALL_FIELDS: readonly string[] = [...TEXTS, "status", "min", "from", "to"];
const TIMES = ["from", "to"];
const UNITS: Record<string, number> = { us: 1, ms: 1_000, s: 1_000_000, m: 60_000_000 };
/** Characters: a filter comes with an address, which anybody may have written. */
export const MOST_FILTER = 1_000;

/** The terms of a written filter; what is no known field is a word to look for. */
export function parseFilter(text: string, fields: readonly string[] = CALL_FIELDS): Term[] {
  return [...text.slice(0, MOST_FILTER).matchAll(/(?:\w+:)?"[^"]*"?|\S+/g)].map(([written]) => {
    const colon = written.indexOf(":");
    const field = colon > 0 ? written.slice(0, colon).toLowerCase() : "";
    const known = fields.includes(field);
    const value = (known ? written.slice(colon + 1) : written).replace(/"/g, "");
    const values = (known ? value.split(",") : [value]).filter((one) => one !== "");
    return { field: known ? field : "text", values, written };
  });
}

/** Whether `text` is `pattern`, in which `*` stands for anything; time linear in both. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.toLowerCase().split("*");
  const low = text.toLowerCase();
  if (rest.length === 0) return low === first;
  const last = rest.pop() ?? "";
  if (!low.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = low.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return low.length - last.length >= at && low.endsWith(last);
}

/** Microseconds of `500ms`, `2s`; undefined if it is no duration. */
export function microseconds(text: string): number | undefined {
  const found = /^(\d{1,9}(?:\.\d{1,3})?)(us|ms|s|m)$/.exec(text);
  return found ? Number(found[1]) * (UNITS[found[2] ?? ""] ?? 1) : undefined;
}

function fits(call: CallRecord, { field, values }: Term): boolean {
  if (values.length === 0) return true; // still being written
  if (field === "text") {
    const all = [call.tool, call.principal, call.agent, call.code, call.message, call.call_id];
    const word = values[0]?.toLowerCase() ?? "";
    return all.some((one) => one?.toLowerCase().includes(word));
  }
  if (field === "min") {
    const least = microseconds(values[0] ?? "");
    return least === undefined || (call.duration_us ?? 0) >= least;
  }
  if (TIMES.includes(field)) {
    const at = timeOf(values[0] ?? "", now());
    return at === undefined || Date.parse(call.time) >= at === (field === "from");
  }
  const own = field as (typeof TEXTS)[number];
  const has = field === "status" ? [call.status, call.code] : [call[own]];
  return values.some((value) => has.some((one) => one !== undefined && matchesGlob(value, one)));
}

export const filtered = (calls: readonly CallRecord[], terms: readonly Term[]): CallRecord[] =>
  calls.filter((call) => terms.every((term) => fits(call, term)));

/** The filter without its times: that of calls which have still to come. */
export const timeless = (text: string): string =>
  parseFilter(text)
    .filter(({ field }) => !TIMES.includes(field))
    .map(({ written }) => written)
    .join(" ");

/** The filter without one of its terms. */
export const without = (terms: readonly Term[], gone: Term): string =>
  terms
    .filter((term) => term !== gone)
    .map((term) => term.written)
    .join(" ");
