import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../src/api";
import { pauseAfter, Poll } from "../src/poll";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a polled value", () => {
  it("is read again after its pause, and not after the end", async () => {
    let read = 0;
    const poll = new Poll(async () => ++read, 2_000, () => false);
    const stop = poll.start();
    await vi.advanceTimersByTimeAsync(2_000);
    expect([read, poll.state.value.data]).toEqual([2, 2]);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(read).toBe(2);
  });

  it("keeps its data when it is read more often", async () => {
    let read = 0;
    const poll = new Poll(async () => ++read, 60_000, () => false);
    const stop = poll.start();
    await vi.advanceTimersByTimeAsync(0);
    poll.every(2_000);
    expect(poll.state.value.data).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(read).toBe(2);
    stop();
  });

  it("keeps its data through a failure and recovers", async () => {
    const says: (number | ApiError)[] = [1, new ApiError(503, "BUSY", "busy"), 3];
    const poll = new Poll(
      async () => {
        const next = says.shift() ?? 9;
        if (next instanceof ApiError) throw next;
        return next;
      },
      2_000,
      () => false,
    );
    const stop = poll.start();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(poll.state.value).toMatchObject({ data: 1, error: { code: "BUSY" } });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(poll.state.value.data).toBe(3);
    expect(poll.state.value.error).toBeUndefined();
    stop();
  });

  it("is given up after a 401", async () => {
    let read = 0;
    const poll = new Poll(
      async () => {
        read += 1;
        throw new ApiError(401, "UNAUTHENTICATED", "no");
      },
      2_000,
      () => false,
    );
    poll.start();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(read).toBe(1);
  });

  it("is not read while nobody looks", async () => {
    let read = 0;
    const stop = new Poll(async () => ++read, 2_000, () => true).start();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(read).toBe(0);
    stop();
  });

  it("waits longer after each failure, 30 s at most, never all clients at once", () => {
    expect([1, 2, 3, 6, 500].map((failures) => pauseAfter(failures, 1))).toEqual([
      1_000, 2_000, 4_000, 30_000, 30_000,
    ]);
    expect(pauseAfter(1, 0)).toBe(500);
  });
});
