/** A reply that was sent and is kept until the gateway has acknowledged it. */
interface Reply {
  frame: string;
  /** On the device's clock; undefined while the link is up. */
  keepUntil: number | undefined;
}

// of replies without an acknowledgement; a gateway that never acknowledges costs no more than this
const most = 1_024;
const mostChars = 32 << 20; // the other libraries have 64 MiB; a character has two bytes here

/**
 * Replies without an acknowledgement: they are sent again on the next link, unless the grace period
 * is over by then.
 */
export class Outbox {
  private readonly replies = new Map<string, Reply>();
  private chars = 0;

  add(callId: string, frame: string, keepUntil?: number): void {
    this.acknowledge(callId);
    this.replies.set(callId, { frame, keepUntil });
    this.chars += frame.length;
    for (const oldest of this.replies.keys()) {
      const fits = this.replies.size <= most && this.chars <= mostChars;
      if (fits || this.replies.size === 1) return;
      this.acknowledge(oldest);
    }
  }

  /** The reply to that call, if it still waits for its acknowledgement. */
  find(callId: string): string | undefined {
    return this.replies.get(callId)?.frame;
  }

  /** All that wait, oldest first. */
  unacknowledged(): string[] {
    return [...this.replies.values()].map((reply) => reply.frame);
  }

  acknowledge(callId: string): void {
    this.chars -= this.replies.get(callId)?.frame.length ?? 0;
    this.replies.delete(callId);
  }

  linkBroke(keepUntil: number): void {
    for (const reply of this.replies.values()) reply.keepUntil ??= keepUntil;
  }

  /** The frames to send again, oldest first; expired ones are dropped. */
  linkOpened(now: number): string[] {
    const frames: string[] = [];
    for (const [callId, reply] of this.replies) {
      if (reply.keepUntil !== undefined && now > reply.keepUntil) {
        this.acknowledge(callId);
      } else {
        reply.keepUntil = undefined;
        frames.push(reply.frame);
      }
    }
    return frames;
  }
}
