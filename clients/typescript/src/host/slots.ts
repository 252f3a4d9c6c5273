/** Whether a call got its place. */
export type Admission = "taken" | "full" | "late" | "aborted";

interface Waiting {
  tool: string;
  most: number;
  wake: () => void;
}

/** Places for calls that run: so many in all, so many of a tool; a few more wait in order. */
export class Slots {
  private readonly taken = new Map<string, number>();
  private running = 0;
  private waiting: Waiting[] = [];

  constructor(
    private readonly most: number,
    private readonly mostWaiting: number,
  ) {}

  /** Waits for a place until the deadline; who got one gives it back with {@link leave}. */
  take(
    tool: { name: string; maxConcurrency: number },
    deadline: number,
    signal: AbortSignal,
  ): Promise<Admission> {
    if (signal.aborted) return Promise.resolve("aborted");
    if (this.hasRoom(tool.name, tool.maxConcurrency)) {
      this.enter(tool.name);
      return Promise.resolve("taken");
    }
    if (this.waiting.length >= this.mostWaiting) return Promise.resolve("full");
    return new Promise((resolve) => {
      const end = (how: Admission) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        this.waiting = this.waiting.filter((other) => other !== waiting);
        resolve(how);
      };
      const onAbort = () => end("aborted");
      const timer = setTimeout(() => end("late"), Math.max(0, deadline - Date.now()));
      signal.addEventListener("abort", onAbort, { once: true });
      const wake = () => {
        this.enter(tool.name);
        end("taken");
      };
      const waiting = { tool: tool.name, most: tool.maxConcurrency, wake };
      this.waiting.push(waiting);
    });
  }

  leave(tool: string): void {
    --this.running;
    this.taken.set(tool, (this.taken.get(tool) ?? 1) - 1);
    this.waiting.find((each) => this.hasRoom(each.tool, each.most))?.wake();
  }

  private hasRoom(tool: string, most: number): boolean {
    return this.running < this.most && (this.taken.get(tool) ?? 0) < most;
  }

  private enter(tool: string): void {
    ++this.running;
    this.taken.set(tool, (this.taken.get(tool) ?? 0) + 1);
  }
}
