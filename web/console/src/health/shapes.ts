export interface HealthCheck {
  readonly id: string;
  readonly state: string;
  readonly text: string;
  /** What to do about it: a command, or a sentence. */
  readonly fix?: string | { readonly kind?: string; readonly params?: object };
}

/** Something that has a name and a state; what else is told of it differs. */
export interface HealthItem {
  readonly name?: string;
  readonly state?: string;
  readonly resting_until?: string;
  readonly [name: string]: unknown;
}

export const GROUPS = ["certificates", "stores", "hosts", "models"] as const;
export type Group = (typeof GROUPS)[number];

export type Health = { readonly checks: readonly HealthCheck[] } & Readonly<
  Partial<Record<Group, readonly HealthItem[]>>
>;

export type Level = "ok" | "warn" | "fail";

const GOOD = new Set(["ok", "good", "ready", "active", "live", "running"]);
const BAD = new Set(["fail", "failed", "failing", "error", "expired", "bad", "down"]);

/** What a state says to a glance; a word that is not known asks for attention. */
export const levelOf = (state: string): Level =>
  GOOD.has(state) ? "ok" : BAD.has(state) ? "fail" : "warn";

const RANK: Readonly<Record<Level, number>> = { fail: 0, warn: 1, ok: 2 };

/** The checks, the worst first. */
export const worstFirst = (checks: readonly HealthCheck[]): readonly HealthCheck[] =>
  [...checks].sort((a, b) => RANK[levelOf(a.state)] - RANK[levelOf(b.state)]);

const COMMAND = /\bcrab [a-z][\w-]*(?: [\w./=-]+)*/;

/** The command in a fix, to copy; undefined if it is only words. */
export function commandIn(fix: HealthCheck["fix"]): string | undefined {
  const text = typeof fix === "string" ? fix : JSON.stringify(fix?.params ?? "");
  return COMMAND.exec(text)?.[0];
}
