import { describe, expect, it } from "vitest";

import { deciding, questionOf, type Step, toneOf } from "../src/policy/shapes";

const step = (rule: string, matched: boolean, effect = "allow"): Step => ({
  rule,
  matched,
  effect,
});

describe("a question to the policy", () => {
  it("has the form of crab policy test", () => {
    expect(questionOf({ as: "caller/ci", kind: "call", what: "sms.send" })).toBe("call sms.send");
    const action = "events.subscribe:cron.*";
    expect(questionOf({ as: "caller/ci", kind: "action", what: action })).toBe(action);
  });
});

describe("the answer", () => {
  it("marks the rule that decided, not one that merely fits", () => {
    const steps = [step("role default", true), step("rule 2", false), step("rule 3", true)];
    expect(deciding({ verdict: "deny", rule: "rule 3", steps })).toBe(steps[2]);
    expect(deciding({ verdict: "allow", rule: "role default", steps })).toBe(steps[0]);
    expect(deciding({ verdict: "deny", rule: "role default", steps: [] })).toBeUndefined();
  });

  it("never marks one that did not fit", () => {
    const steps = [step("rule 2", true), step("rule 3", false)];
    expect(deciding({ verdict: "deny", rule: "rule 3", steps })).toBe(steps[0]);
  });

  it("is good news only if it is an allowance", () => {
    expect(["allow", "needs_approval", "deny", "new word"].map(toneOf)).toEqual([
      "good",
      "warn",
      "bad",
      "plain",
    ]);
  });
});
