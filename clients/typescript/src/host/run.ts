import type { OfferedTool } from "./host-tool.js";
import type { Outcome } from "./outcome.js";

/** What a caller that follows a call as a stream is told. */
export interface CallFollower {
  progress(news: { message?: string; progress?: number; total?: number }): void;
}

/** What a caller of a run has waited for. */
export type RunEnd =
  | { how: "ended"; outcome: Outcome | undefined }
  | { how: "cancelled" }
  | { how: "late" };

/** One admitted call whose handler has not returned. */
export class Run {
  readonly abort = new AbortController();
  readonly followers = new Set<CallFollower>();
  /** Callers that wait for it. */
  waiting = 0;
  joined = 0;
  cancelled = false;
  /** The handler was started. */
  started = false;
  /** Ends when the handler has: with what repeats get, or with nothing when nobody knows. */
  readonly finished: Promise<Outcome | undefined>;
  finish: (outcome: Outcome | undefined) => void = () => {};
  private readonly stopped: Promise<void>;
  private stop: () => void = () => {};

  constructor(
    readonly identity: string,
    readonly tenantId: string,
    readonly callId: string,
    readonly tool: OfferedTool,
  ) {
    this.finished = new Promise((resolve) => (this.finish = resolve));
    this.stopped = new Promise((resolve) => (this.stop = resolve));
  }

  /** Ends it for its callers at once; its handler is told. */
  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.stop();
    this.abort.abort(new DOMException("the call was cancelled", "AbortError"));
  }

  /** Waits for one of: the end, a cancel, the deadline. */
  async wait(
    end: Promise<Outcome | undefined>,
    deadline: number,
  ): Promise<RunEnd> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<{ how: "late" }>((resolve) => {
      timer = setTimeout(() => resolve({ how: "late" }), Math.max(0, deadline - Date.now()));
    });
    try {
      return await Promise.race([
        end.then((outcome) => ({ how: "ended" as const, outcome })),
        this.stopped.then(() => ({ how: "cancelled" as const })),
        late,
      ]);
    } finally {
      clearTimeout(timer);
    }
  }
}
