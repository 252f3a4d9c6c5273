import type { Caller, Json } from "@crab/device";

/** Who calls, for a headline: the agent's name if there is one, else the principal's. */
export function callerName(caller: Caller): string {
  return caller.agent || nameOf(caller.principal) || "Somebody";
}

/**
 * What the gateway proved, for the line below: `through caller/ci`; empty without anything to
 * add.
 */
export function callerAccount(caller: Caller): string {
  return caller.principal === "" || caller.agent === "" ? "" : `through ${caller.principal}`;
}

function nameOf(principal: string): string {
  return principal.slice(principal.indexOf("/") + 1);
}

/** `now`, `12 s`, `5 min`, `3 h`, `2 d`. */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 2) return "now";
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** An argument of a call for people: text as it is, `yes` and `no`, what is nested as JSON. */
export function valueWords(value: Json): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
