import type { Consent } from "./consent.js";
import type { Json, JsonObject, Caller } from "./frames.js";
import type { Platform } from "./platform.js";
import { type Tool, type ToolCall, ToolError, type ToolResult } from "./tool.js";

/** The part of the gateway's request that is needed to run it. */
export interface CallRequest {
  id: string;
  name: string;
  args: JsonObject;
  caller: Caller;
  deadline: number;
  traceparent: string;
}

/** How a call ended; `artifact`: the gateway holds the result already. */
export type CallEnd =
  | { ok: true; output: Json }
  | { ok: true; artifact: string }
  | { ok: false; code: string; message: string };

/** What a person may want to see of a call while it runs and after. */
export interface CallNews {
  id: string;
  tool: string;
  caller: Caller;
  phase: "waiting" | "running" | "ok" | "failed" | "cancelled";
  /** For `failed`: the code. */
  code?: string;
  /** For `failed`: what the caller was told. */
  message?: string;
  at: number;
}

/** Callbacks of a runner. */
export interface CallRunnerPorts {
  /** Uploads a result that has to be uploaded before the call can end. */
  pack(call: ToolCall, result: ToolResult): Promise<CallEnd>;
  /** The upload limits that calls see. */
  uploads(): ToolCall["uploads"];
  /** Exactly once per call, unless it was cancelled. */
  reply(callId: string, end: CallEnd): void;
  progress(callId: string, news: { message?: string; progress?: number; total?: number }): void;
  news(news: CallNews): void;
}

interface Running {
  request: CallRequest;
  abort: AbortController;
  cancelTimer: () => void;
  seen: ToolCall;
}

/** Runs the handlers of calls, a few at a time, each with its consent, deadline and one reply. */
export class CallRunner {
  private readonly running = new Map<string, Running>();
  private readonly queue: Array<{ call: Running; tool: Tool }> = [];
  private atWork = 0;

  constructor(
    private readonly platform: Pick<Platform, "now" | "after">,
    private readonly ports: CallRunnerPorts,
    private readonly options: { parallel: number; queued: number; consent: Consent | undefined },
  ) {}

  has(callId: string): boolean {
    return this.running.has(callId);
  }

  /**
   * Accepts a call; false when too many run or wait already. Waiting for consent takes no slot of
   * those that run.
   */
  start(request: CallRequest, tool: Tool): boolean {
    if (this.running.size >= this.options.parallel + this.options.queued) return false;
    const abort = new AbortController();
    const cancelTimer = this.platform.after(
      Math.max(0, request.deadline - this.platform.now()),
      () =>
        this.end(call, {
          ok: false,
          code: "TIMEOUT",
          message: "the tool did not end before the deadline",
        }),
    );
    const { id, name, args, caller, deadline, traceparent } = request;
    const call: Running = {
      request,
      abort,
      cancelTimer,
      seen: {
        id,
        tool: name,
        args,
        caller,
        deadline,
        traceparent,
        signal: abort.signal,
        uploads: this.ports.uploads(),
        progress: (news) => {
          if (this.running.get(id) === call) this.ports.progress(id, news);
        },
      },
    };
    this.running.set(id, call);
    this.tell(request, "waiting");
    void this.admit(call, tool);
    return true;
  }

  /** The caller has cancelled; no reply is sent. */
  cancel(callId: string): void {
    const call = this.take(callId);
    if (call) this.tell(call.request, "cancelled");
  }

  /** The device stops. */
  cancelAll(): void {
    for (const callId of [...this.running.keys()]) this.cancel(callId);
  }

  /** Whether calls wait or run. */
  busy(): boolean {
    return this.running.size > 0;
  }

  private async admit(call: Running, tool: Tool): Promise<void> {
    try {
      if (this.options.consent && !(await this.options.consent(call.seen))) {
        throw new ToolError(
          "FORBIDDEN",
          "the person at the device said no; do not ask again for the same thing",
        );
      }
      this.queue.push({ call, tool });
      this.next();
    } catch (thrown) {
      this.end(call, failureOf(thrown));
    }
  }

  private next(): void {
    while (this.atWork < this.options.parallel) {
      const waiting = this.queue.shift();
      if (!waiting) return;
      if (waiting.call.abort.signal.aborted) continue;
      ++this.atWork;
      void this.run(waiting.call, waiting.tool).finally(() => {
        --this.atWork;
        this.next();
      });
    }
  }

  private async run(call: Running, tool: Tool): Promise<void> {
    this.tell(call.request, "running");
    try {
      this.end(call, await this.ports.pack(call.seen, (await tool.handler(call.seen)) ?? ""));
    } catch (thrown) {
      this.end(call, failureOf(thrown));
    }
  }

  /** Replies, unless the call has ended before. */
  private end(call: Running, end: CallEnd): void {
    const { id } = call.request;
    if (this.running.get(id) !== call) return;
    this.take(id);
    this.ports.reply(id, end);
    if (end.ok) this.tell(call.request, "ok");
    else this.tell(call.request, "failed", end.code, end.message);
  }

  private take(callId: string): Running | undefined {
    const call = this.running.get(callId);
    if (!call) return undefined;
    this.running.delete(callId);
    call.cancelTimer();
    call.abort.abort();
    return call;
  }

  private tell(
    request: CallRequest,
    phase: CallNews["phase"],
    code?: string,
    message?: string,
  ): void {
    const news: CallNews = {
      id: request.id,
      tool: request.name,
      caller: request.caller,
      phase,
      at: this.platform.now(),
    };
    if (code !== undefined) news.code = code;
    if (message !== undefined) news.message = message;
    this.ports.news(news);
  }
}

function failureOf(thrown: unknown): CallEnd {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return {
    ok: false,
    code: thrown instanceof ToolError ? thrown.code : "INTERNAL",
    message: message || "the tool failed",
  };
}
