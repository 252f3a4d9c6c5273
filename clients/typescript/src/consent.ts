import type { Caller } from "./frames.js";
import type { ToolCall } from "./tool.js";

/**
 * Asked before every call: may it run? The answer `false` is final, the caller reads `FORBIDDEN`. A
 * consent that waits for a person stops waiting when `call.signal` is aborted.
 */
export type Consent = (call: ToolCall) => boolean | Promise<boolean>;

/**
 * A person's possible answers: yes for this call, until the page is closed, or always; no always,
 * or no to this call.
 */
export type Answer = "once" | "session" | "always" | "never" | "no";

/** A decision that holds for further calls of one tool by one caller. */
export interface Decision {
  tool: string;
  principal: string;
  agent: string;
  answer: "session" | "always" | "never";
  /** `Date.now()` of the answer. */
  at: number;
}

/**
 * Where lasting decisions are kept; a `Storage` of the browser fits with {@link storedDecisions}.
 */
export interface DecisionStore {
  load(): Decision[];
  save(decisions: Decision[]): void;
}

/** Lasting decisions under one key of a `Storage`; unreadable ones are ignored. */
export function storedDecisions(
  storage: Pick<Storage, "getItem" | "setItem">,
  key: string,
): DecisionStore {
  return {
    load: () => {
      try {
        const list: unknown = JSON.parse(storage.getItem(key) ?? "[]");
        return Array.isArray(list) ? list.filter(isDecision) : [];
      } catch {
        return [];
      }
    },
    save: (decisions) => storage.setItem(key, JSON.stringify(decisions)),
  };
}

/**
 * A person's decisions per tool and caller, and the questions that are open. Questions are asked
 * one at a time; an answer that lasts answers the waiting calls of the same tool and caller too.
 * Without an answer before the call's deadline nothing is allowed.
 */
export class ConsentBook {
  private readonly decisions = new Map<string, Decision>();
  private asking: Promise<void> = Promise.resolve();

  constructor(
    private readonly options: {
      /** Shows the question; has to settle when `call.signal` is aborted, in any way. */
      ask: (call: ToolCall) => Promise<Answer>;
      store: DecisionStore;
      now?: () => number;
      /** Called after every change of the decisions. */
      changed?: () => void;
    },
  ) {
    for (const decision of options.store.load())
      this.decisions.set(keyOf(decision.tool, decision), decision);
  }

  /** The {@link Consent} of a device. */
  readonly consent: Consent = (call) => {
    const known = this.known(call);
    if (known !== undefined) return known;
    const turn = this.asking.then(() => this.ask(call));
    this.asking = turn.then(() => undefined);
    return turn;
  };

  /** The decisions in force, newest first. */
  list(): Decision[] {
    return [...this.decisions.values()].sort((left, right) => right.at - left.at);
  }

  /** Takes a decision back: the next call is asked about again. */
  forget(decision: Pick<Decision, "tool" | "principal" | "agent">): void {
    if (this.decisions.delete(keyOf(decision.tool, decision))) this.changed();
  }

  private async ask(call: ToolCall): Promise<boolean> {
    const known = this.known(call);
    if (known !== undefined) return known;
    if (call.signal.aborted) return false;
    const answer = await this.options.ask(call).catch((): Answer => "no");
    // too late: the answer was to a question that has ended
    if (call.signal.aborted) return false;
    switch (answer) {
      case "no":
        return false;
      case "once":
        return true;
      case "session":
      case "always":
      case "never": {
        const { principal, agent } = call.caller;
        const decision: Decision = {
          tool: call.tool,
          principal,
          agent,
          answer,
          at: (this.options.now ?? Date.now)(),
        };
        this.decisions.set(keyOf(call.tool, call.caller), decision);
        this.changed();
        return answer !== "never";
      }
    }
  }

  private known(call: ToolCall): boolean | undefined {
    const decision = this.decisions.get(keyOf(call.tool, call.caller));
    return decision === undefined ? undefined : decision.answer !== "never";
  }

  private changed(): void {
    this.options.store.save(this.list().filter((decision) => decision.answer !== "session"));
    this.options.changed?.();
  }
}

function keyOf(tool: string, caller: Caller): string {
  return JSON.stringify([tool, caller.principal, caller.agent]);
}

function isDecision(value: unknown): value is Decision {
  const from = value as Partial<Decision> | null;
  return (
    typeof from === "object" &&
    from !== null &&
    typeof from.tool === "string" &&
    typeof from.principal === "string" &&
    typeof from.agent === "string" &&
    typeof from.at === "number" &&
    (from.answer === "always" || from.answer === "never")
  );
}
