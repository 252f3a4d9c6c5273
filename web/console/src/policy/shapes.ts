import type { Json } from "../try/schema";

/** What one rule says of a call. */
export interface Step {
  readonly rule: string;
  /** In the configuration file, from 1; 0 or absent: not known. */
  readonly line?: number;
  readonly effect: string;
  readonly matched: boolean;
  readonly because?: string;
}

/** What else a call has to pass, once the rules let it. */
export interface Then {
  readonly check: string;
  readonly ok?: boolean;
  readonly text?: string;
}

export interface Explanation {
  readonly verdict: string;
  readonly rule: string;
  readonly depends_on_arguments?: boolean;
  readonly steps?: readonly Step[];
  readonly then?: readonly Then[];
}

export const KINDS = ["call", "register", "action"] as const;
export type Kind = (typeof KINDS)[number];

export interface Asked {
  readonly as: string;
  readonly kind: Kind;
  /** A tool, or an action such as `events.subscribe:cron.*`. */
  readonly what: string;
  readonly args?: Json | undefined;
}

/** A question in the form of `crab policy test`. */
export const questionOf = ({ kind, what }: Asked): string =>
  kind === "action" ? what : `${kind} ${what}`;

export interface Verdict {
  readonly name: string;
  readonly verdict: string;
  readonly rule: string;
  /** Rules about arguments may decide otherwise. */
  readonly depends_on_arguments?: boolean;
}

export interface MatrixPage {
  readonly tools: readonly Verdict[];
  readonly cursor?: string;
}

export type Tone = "good" | "warn" | "bad" | "plain";

export function toneOf(verdict: string): Tone {
  if (verdict === "allow") return "good";
  if (verdict === "needs_approval" || verdict === "ask") return "warn";
  return verdict === "deny" ? "bad" : "plain";
}

/** The step of the rule that decided: the last that matched and has the verdict's rule. */
export function deciding({ rule, steps = [] }: Explanation): Step | undefined {
  const matched = steps.filter((step) => step.matched);
  return matched.filter((step) => step.rule === rule).pop() ?? matched.pop();
}
