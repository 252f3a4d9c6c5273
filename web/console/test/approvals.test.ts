import { describe, expect, it } from "vitest";

import {
  allowsRepeat,
  type Approval,
  argumentsOf,
  inOrder,
  lastingAnswers,
} from "../src/approvals";

const question = (id: string, more: Partial<Approval> = {}): Approval => ({
  id,
  state: "pending",
  principal: "caller/ci",
  tool: "sms.send",
  source: "device/phone",
  args: "{}",
  asked_at: "2026-01-01T12:00:00Z",
  until: "2026-01-01T12:01:00Z",
  ...more,
});
const ids = (all: readonly Approval[]) => all.map(({ id }) => id);

describe("open questions", () => {
  it("stand by the time that is left when none was shown before", () => {
    const late = question("late", { until: "2026-01-01T12:05:00Z" });
    expect(ids(inOrder([late, question("soon")], []))).toEqual(["soon", "late"]);
  });

  it("never move one that is in view, even if a new one has less time left", () => {
    const shown = question("shown", { until: "2026-01-01T12:05:00Z" });
    expect(ids(inOrder([question("new"), shown], ["shown"]))).toEqual(["shown", "new"]);
  });

  it("are without those that have ended", () => {
    expect(inOrder([question("over", { state: "expired" })], ["over"])).toEqual([]);
  });

  it("offer an answer for the session only if the call has one", () => {
    expect(lastingAnswers(question("a"))).toEqual([
      ["allow", "always"],
      ["deny", "always"],
    ]);
    expect(lastingAnswers(question("a", { session: "s1" }))[0]).toEqual(["allow", "session"]);
  });
});

describe("ended questions", () => {
  it("can be allowed for a repeat unless they were allowed", () => {
    expect(allowsRepeat(question("a", { state: "unattended" }))).toBe(true);
    expect(allowsRepeat(question("a", { state: "allowed" }))).toBe(false);
    expect(allowsRepeat(question("a"))).toBe(false);
  });
});

describe("arguments", () => {
  it("are a value, and as text where they were cut", () => {
    expect(argumentsOf('{"to":"+49"}')).toEqual({ to: "+49" });
    expect(argumentsOf('{"to":"+49…')).toBe('{"to":"+49…');
  });
});
