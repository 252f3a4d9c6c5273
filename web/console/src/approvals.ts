/** A question about a call, as the gateway answers it. */
export interface Approval {
  readonly id: string;
  readonly state: string;
  readonly principal: string;
  readonly tool: string;
  readonly source: string;
  /** JSON, cut where it is long. */
  readonly args: string;
  readonly asked_at: string;
  readonly until: string;
  readonly session?: string;
  readonly rule?: string;
  readonly agent?: string;
  readonly decided_by?: string;
  readonly scope?: string;
}

/** A decision that holds for calls to come. */
export interface Remembered {
  readonly id: string;
  readonly decision: "allow" | "deny";
  readonly scope: string;
  readonly principal: string;
  readonly tool: string;
  readonly source: string;
  readonly decided_by: string;
  readonly decided_at: string;
  readonly session?: string;
}

export interface ApprovalList {
  /** How many look at the questions; without any, a call is refused at once. */
  readonly watchers: number;
  readonly approvals: readonly Approval[];
}

export const isOpen = ({ state }: Approval): boolean => state === "pending";

/** Whether an ended question can be allowed, so that a repeat of its call runs. */
export const allowsRepeat = ({ state }: Approval): boolean =>
  state !== "pending" && state !== "allowed";

const byTimeLeft = (a: Approval, b: Approval) => Date.parse(a.until) - Date.parse(b.until);

/**
 * The open questions: those that were `shown` keep their order, so that none moves under a hand;
 * new ones stand behind them, those with the least time left first.
 */
export function inOrder(all: readonly Approval[], shown: readonly string[]): Approval[] {
  const place = new Map(shown.map((id, index) => [id, index]));
  const at = ({ id }: Approval) => place.get(id) ?? shown.length;
  return all.filter(isOpen).sort((a, b) => at(a) - at(b) || byTimeLeft(a, b));
}

/** The arguments as a value; what was cut and is no JSON any more as the text that it is. */
export function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export type Decision = "allow" | "deny";
export type Scope = "once" | "session" | "always";

/** The answers that a question can have; one for a session only if the call has a session. */
export function lastingAnswers({ session }: Approval): readonly (readonly [Decision, Scope])[] {
  const always = [
    ["allow", "always"],
    ["deny", "always"],
  ] as const;
  return session ? [["allow", "session"], ...always] : always;
}
