import { signal } from "@preact/signals";

import { ApiError } from "./api";

export interface Snapshot<T> {
  readonly data?: T;
  readonly error?: ApiError;
  /** When `data` was read. */
  readonly at?: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** How long to wait after the `failures`-th failure in a row; `chance` spreads the clients. */
export function pauseAfter(failures: number, chance: number): number {
  const whole = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10));
  return Math.round(whole * (0.5 + chance / 2));
}

/**
 * A value of the gateway, read again and again while somebody looks. A failure keeps the data that
 * was there; a 401 ends the reading for good.
 */
export class Poll<T> {
  readonly state = signal<Snapshot<T>>({});
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private round = 0;

  constructor(
    private readonly read: () => Promise<T>,
    private everyMs: number,
    private readonly hidden: () => boolean = () => document.hidden,
  ) {}

  /** Reads now and from now on; the answer ends it. */
  start(): () => void {
    this.failures = 0;
    void this.again();
    return () => this.stop();
  }

  /** Reads as often as that from now on; what was read stays. */
  every(ms: number): void {
    if (ms === this.everyMs) return;
    this.everyMs = ms;
    if (this.timer === undefined || this.failures > 0) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.again(), ms);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.round += 1; // what is on its way comes too late
  }

  async again(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const round = ++this.round;
    let pause = 0;
    if (!this.hidden()) {
      try {
        const data = await this.read();
        if (round !== this.round) return;
        this.failures = 0;
        this.state.value = { data, at: Date.now() };
      } catch (error) {
        if (round !== this.round) return;
        const failure =
          error instanceof ApiError ? error : new ApiError(0, "BAD_ANSWER", String(error));
        this.state.value = { ...this.state.value, error: failure };
        if (failure.status === 401) return;
        pause = pauseAfter(++this.failures, Math.random());
      }
    }
    this.timer = setTimeout(() => void this.again(), Math.max(this.everyMs, pause));
  }
}
