import { describe, expect, it } from "vitest";

import { queryOf } from "../src/audit/query";
import { timeOf } from "../src/written-time";
import { AuditSearch, type AuditFound, histogram, isBad } from "../src/audit/search";

const NOW = Date.parse("2026-02-10T12:00:00Z");

describe("a written filter of the log", () => {
  it("becomes the parameters of the search", () => {
    const query = queryOf('from:7d tool:disk*,sms* status:error min:500ms "on my" way', NOW);
    expect(Object.fromEntries(query)).toEqual({
      from: "2026-02-03T12:00:00.000Z",
      tool: "disk*,sms*",
      status: "error",
      min_us: "500000",
      q: "on my way",
    });
  });

  it("leaves out what is still being written", () => {
    expect(queryOf("from: from:7 min:x tool:", NOW).toString()).toBe("");
  });

  it("knows times that people write", () => {
    expect(timeOf("90m", NOW)).toBe(NOW - 90 * 60_000);
    expect(timeOf("2026-02-01T10:00:00Z", NOW)).toBe(Date.parse("2026-02-01T10:00:00Z"));
    const midnight = timeOf("00:00", NOW) ?? 0;
    expect(midnight).toBeLessThanOrEqual(NOW);
    expect(NOW - midnight).toBeLessThan(86_400_000);
    for (const other of ["yesterday", "25:00", "7x", "2026-13-40T1"])
      expect(timeOf(other, NOW), other).toBeUndefined();
  });
});

const part = (records: object[], cursor?: string): AuditFound => ({
  records: records as AuditFound["records"],
  complete: cursor === undefined,
  scanned_to: "2026-01-01T00:00:00Z",
  ...(cursor !== undefined && { cursor }),
});

describe("a search in the log", () => {
  it("goes on by itself until something is found, then waits", async () => {
    const asked: string[] = [];
    const parts = [part([], "1"), part([{ call_id: "a" }], "2"), part([{ event: "b" }])];
    const search = new AuditSearch(async (path) => {
      asked.push(path);
      return parts[asked.length - 1] as AuditFound;
    });
    await search.start(new URLSearchParams({ tool: "x" }));
    expect(asked).toEqual(["/v1/admin/audit?tool=x", "/v1/admin/audit?tool=x&cursor=1"]);
    expect(search.state.value).toMatchObject({ complete: false, busy: false });
    await search.more();
    expect(search.state.value.records).toHaveLength(2);
    expect(search.state.value.complete).toBe(true);
    await search.more();
    expect(asked).toHaveLength(3);
  });

  it("shows nothing of a search that another one has replaced", async () => {
    const open: ((found: AuditFound) => void)[] = [];
    const search = new AuditSearch(() => new Promise((done) => open.push(done)));
    const first = search.start(new URLSearchParams({ tool: "old" }));
    const second = search.start(new URLSearchParams({ tool: "new" }));
    open[1]?.(part([{ call_id: "new" }]));
    open[0]?.(part([{ call_id: "old" }]));
    await Promise.all([first, second]);
    expect(search.state.value.records.map(({ call_id }) => call_id)).toEqual(["new"]);
  });

  it("keeps what was found when a part fails, and goes on from there", async () => {
    let fails = false;
    const search = new AuditSearch(async () => {
      if (fails) throw new Error("broken");
      return part([{ call_id: "a" }], "1");
    });
    await search.start(new URLSearchParams());
    fails = true;
    await search.more();
    expect(search.state.value).toMatchObject({ busy: false, error: { code: "BAD_ANSWER" } });
    fails = false;
    await search.more();
    expect(search.state.value.records).toHaveLength(2);
    expect(search.state.value.error).toBeUndefined();
  });
});

describe("records by time", () => {
  it("are all counted, the bad ones apart", () => {
    const records = [0, 1, 5, 10].map((minute) => ({
      time: new Date(NOW + minute * 60_000).toISOString(),
      status: minute === 5 ? "error" : "ok",
    }));
    const bars = histogram(records, 10);
    expect(bars).toHaveLength(10);
    expect(bars.reduce((sum, { good }) => sum + good, 0)).toBe(3);
    expect(bars[5]?.bad).toBe(1);
    expect(bars[9]?.good).toBe(1);
    expect(histogram([{ time: "no time" }], 10)).toEqual([]);
  });

  it("are bad when refused or failed, not when about to run", () => {
    expect(isBad({ status: "dispatching" })).toBe(false);
    expect(isBad({ decision: "deny" })).toBe(true);
    expect(isBad({ event: "lease.granted" })).toBe(false);
  });
});
