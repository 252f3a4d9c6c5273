const firstMs = 1_000;
const longestMs = 30_000;
const stableMs = 30_000; // a link that lasted this long resets the backoff

/**
 * How long to wait before dialling again: d = min(1 s * 2^n, 30 s), the wait uniform in [d/2, d],
 * so that devices do not reconnect to a restarted gateway all at once. Source:
 * docs/protocols/clawseed.md, section 10.
 */
export class Backoff {
  private failures = 0;
  private openedAt = 0;

  /** `random` gives numbers in [0, 1). */
  constructor(private readonly random: () => number) {}

  linkOpened(now: number): void {
    this.openedAt = now;
  }

  linkLost(now: number): void {
    if (now - this.openedAt >= stableMs) this.failures = 0;
  }

  /** The network has changed: earlier failures no longer count. */
  networkChanged(): void {
    this.failures = 0;
  }

  /** The next wait in milliseconds. */
  next(): number {
    const longest = Math.min(firstMs * 2 ** this.failures, longestMs);
    if (this.failures < 5) ++this.failures; // 1 s * 2^5 is beyond the longest already
    return longest / 2 + this.random() * (longest / 2);
  }
}
