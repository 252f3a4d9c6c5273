import { signal } from "@preact/signals";

import { type Api, ApiError, refusal } from "../api";
import { eventsOf } from "../sse";
import { isObject, type Json, type JsonObject, numberOf, objectOf, textOf } from "./schema";

export interface Progress {
  readonly message: string;
  readonly done?: number | undefined;
  readonly total?: number | undefined;
}

export type CallState =
  | { readonly state: "none" }
  | {
      readonly state: "running";
      readonly callId: string;
      readonly progress?: Progress;
      readonly frames: readonly Json[];
    }
  | { readonly state: "ok"; readonly callId: string; readonly ms: number; readonly result: Json }
  | { readonly state: "failed"; readonly callId: string; readonly error: ApiError };

export interface CallWish {
  readonly tool: string;
  readonly args: Json;
  readonly timeoutMs?: number | undefined;
  readonly key?: string | undefined;
}

const MOST_FRAMES = 500;

/** What a call ended with, out of the answer's JSON. */
export function ended(callId: string, answer: Json): CallState {
  const body = isObject(answer) ? answer : {};
  if (textOf(body, "status") === "ok")
    return {
      state: "ok",
      callId,
      ms: numberOf(body, "duration_ms") ?? 0,
      result: body["result"] ?? null,
    };
  return { state: "failed", callId, error: refusal(200, { error: objectOf(body, "error") }) };
}

const progressOf = (data: JsonObject): Progress => ({
  message: textOf(data, "message"),
  done: numberOf(data, "progress"),
  total: numberOf(data, "total"),
});

/** One call at a time, streamed; a second one begins when the first has ended. */
export class TryCall {
  readonly state = signal<CallState>({ state: "none" });
  private ending = new AbortController();

  constructor(
    private readonly api: Pick<Api, "open" | "post">,
    private readonly newId: () => string = () => crypto.randomUUID(),
  ) {}

  async run({ tool, args, timeoutMs, key }: CallWish): Promise<void> {
    if (this.state.value.state === "running") return;
    const callId = `console-${this.newId()}`;
    this.state.value = { state: "running", callId, frames: [] };
    this.ending = new AbortController();
    const body = {
      version: "v1",
      call_id: callId,
      tool_name: tool,
      tenant_id: "default",
      args,
      context: { agent_id: "console", session_id: "console" },
      ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
      ...(key && { idempotency_key: key }),
    };
    try {
      const answer = await this.api.open("/v1/tools/call", {
        method: "POST",
        body,
        accept: "text/event-stream",
        signal: this.ending.signal,
      });
      await this.read(callId, answer);
    } catch (error) {
      const failure =
        error instanceof ApiError ? error : new ApiError(0, "BROKEN_OFF", String(error));
      this.state.value = { state: "failed", callId, error: failure };
    }
  }

  /** Asks the gateway to end it; what it ends with still comes. */
  async cancel(): Promise<void> {
    const now = this.state.value;
    if (now.state !== "running") return;
    const body = { version: "v1", tenant_id: "default", call_id: now.callId };
    await this.api.post("/v1/tools/cancel", body).catch(() => this.ending.abort());
  }

  /** Nobody looks any more. */
  end(): void {
    this.ending.abort();
  }

  private async read(callId: string, answer: Response): Promise<void> {
    const type = answer.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream") || !answer.body) {
      this.state.value = ended(callId, (await answer.json()) as Json);
      return;
    }
    for await (const { event, data } of eventsOf(answer.body)) {
      const read = JSON.parse(data) as Json;
      if (event === "result") this.state.value = ended(callId, read);
      else this.follow(event, read);
    }
    if (this.state.value.state === "running")
      throw new ApiError(0, "BROKEN_OFF", "the connection ended before the call did");
  }

  private follow(event: string, data: Json): void {
    const now = this.state.value;
    if (now.state !== "running") return;
    if (event === "progress")
      this.state.value = { ...now, progress: progressOf(isObject(data) ? data : {}) };
    if (event === "frame")
      this.state.value = { ...now, frames: [...now.frames, data].slice(-MOST_FRAMES) };
  }
}
