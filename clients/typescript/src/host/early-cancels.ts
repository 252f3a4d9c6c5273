const keptMs = 10_000;
const mostOfOne = 256;

/**
 * Cancels that came before their calls: kept for ten seconds, the newest 256 of each identity.
 * Source: docs/protocols/rtp.md, section 3, "Cancel".
 */
export class EarlyCancels {
  private readonly came = new Map<string, { identity: string; until: number }>(); // oldest first
  private readonly counts = new Map<string, number>(); // of identities that have some

  remember(identity: string, id: string): void {
    const now = Date.now();
    for (const [other, { until }] of this.came) {
      if (until > now) break;
      this.drop(other);
    }
    this.drop(id); // its time begins anew
    if ((this.counts.get(identity) ?? 0) >= mostOfOne) this.dropOldestOf(identity);
    this.came.set(id, { identity, until: now + keptMs });
    this.counts.set(identity, (this.counts.get(identity) ?? 0) + 1);
  }

  /** Whether there was one for the call of this id; it counts once. */
  take(id: string): boolean {
    const until = this.came.get(id)?.until;
    this.drop(id);
    return until !== undefined && until > Date.now();
  }

  private dropOldestOf(identity: string): void {
    for (const [id, each] of this.came)
      if (each.identity === identity) return this.drop(id);
  }

  private drop(id: string): void {
    const each = this.came.get(id);
    if (!each) return;
    this.came.delete(id);
    const left = (this.counts.get(each.identity) ?? 1) - 1;
    if (left > 0) this.counts.set(each.identity, left);
    else this.counts.delete(each.identity);
  }
}
