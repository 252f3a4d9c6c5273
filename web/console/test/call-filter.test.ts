import { describe, expect, it } from "vitest";

import {
  filtered,
  matchesGlob,
  microseconds,
  parseFilter,
  timeless,
  without,
} from "../src/call-filter";
import type { CallRecord } from "../src/store";
import { bars } from "../src/waterfall";

const call = (more: Partial<CallRecord>): CallRecord => ({
  call_id: "c1",
  time: "2026-01-01T00:00:00Z",
  tool: "disk_usage",
  principal: "caller/ci",
  status: "ok",
  ...more,
});
const hits = (filter: string, more: Partial<CallRecord>) =>
  filtered([call(more)], parseFilter(filter)).length === 1;

describe("a filter of calls", () => {
  it.each([
    ["", {}, true],
    ["tool:disk*", {}, true],
    ["tool:disk", {}, false],
    ["tool:*USAGE", {}, true],
    ["status:error,timeout", { status: "timeout" }, true],
    ["status:error,timeout", {}, false],
    ["status:forbidden", { status: "error", code: "FORBIDDEN" }, true],
    ["agent:butler", {}, false],
    ["agent:butler", { agent: "butler" }, true],
    ["source:device/*", { source: "device/phone" }, true],
    ["min:500ms", { duration_us: 500_000 }, true],
    ["min:500ms", { duration_us: 499_999 }, false],
    ["min:soon", {}, true],
    ["agent:", {}, true],
    ['"no answer"', { message: "No answer in 30 s" }, true],
    ["tool:disk* caller/other", {}, false],
    ["http://x", { message: "at http://x" }, true],
    ["constructor:x", {}, false],
    ["from:2025-12-31", {}, true],
    ["from:2026-01-02", {}, false],
    ["to:2026-01-02", {}, true],
    ["to:2025-12-31", {}, false],
    ["from:soon", {}, true],
  ] as const)("%j of %j: %s", (filter, more, expected) => {
    expect(hits(filter, more)).toBe(expected);
  });

  it("has no times where it asks for calls that have still to come", () => {
    expect(timeless("agent:butler from:22:00 to:1h")).toBe("agent:butler");
  });

  it("loses the term whose chip is dropped and keeps the others as written", () => {
    const terms = parseFilter('tool:disk*  status:error "two words"');
    expect(terms).toHaveLength(3);
    const [, second] = terms;
    expect(second && without(terms, second)).toBe('tool:disk* "two words"');
  });

  it("matches stars without a pattern's cost growing out of hand", () => {
    expect(matchesGlob("a*b*c", "aXbYc")).toBe(true);
    expect(matchesGlob("ab*ba", "aba")).toBe(false);
    expect(matchesGlob("*", "")).toBe(true);
    expect(matchesGlob(`${"a*".repeat(500)}b`, "a".repeat(100_000))).toBe(false);
  });

  it("reads durations", () => {
    expect(["1us", "1.5ms", "2s", "1m", "1", "-1s", "1h"].map(microseconds)).toEqual([
      1,
      1_500,
      2_000_000,
      60_000_000,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("a waterfall", () => {
  it("begins each stage where the one before ended and ends with the call", () => {
    const found = bars({ finished: 1_000, received: 12, dispatched: 300 });
    expect(found.map(({ stage, from, to }) => [stage, from, to])).toEqual([
      ["received", 0, 12],
      ["dispatched", 12, 300],
      ["finished", 300, 1_000],
    ]);
    expect(found.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(1_000);
  });

  it("leaves out what is no time", () => {
    expect(bars({ a: Number.NaN, b: -1 })).toEqual([]);
    expect(bars({ a: Number.NaN }, 5)).toEqual([]);
  });

  it("is as long as its call, whatever was reached last (A41)", () => {
    const found = bars({ received_us: 12, answered_us: 1_744 }, 1_775);
    expect(found.map(({ from, to }) => to - from)).toEqual([12, 1_732, 31]);
    expect(found[2]).toMatchObject({ stage: "ended", by: "gateway" });
    expect(bars({ answered_us: 1_775 }, 1_775)).toHaveLength(1);
  });
});
