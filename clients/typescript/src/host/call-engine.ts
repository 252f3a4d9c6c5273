import type { JsonObject } from "../frames.js";
import { longestCallMs } from "../rtp.js";
import { ToolError } from "../tool.js";
import {
  BadRequest,
  type HostRequest,
  parseCallRequest,
  parseCancelRequest,
} from "./call-request.js";
import { EarlyCancels } from "./early-cancels.js";
import type { HostCall, HostResult, OfferedTool } from "./host-tool.js";
import { contentOf, keyOf, type KnownCall, KnownCalls } from "./known-calls.js";
import { busy, failed, type Outcome, resultOf, toResponse } from "./outcome.js";
import { type CallFollower, Run, type RunEnd } from "./run.js";
import { Slots } from "./slots.js";

/** What goes back to the caller. */
export interface CallReply {
  http: number;
  body: string;
  replayed: boolean;
}

export interface EngineOptions {
  service: string;
  tools: ReadonlyMap<string, OfferedTool>;
  calls: KnownCalls;
  /** A line for the operator, such as what a handler threw. */
  log: (line: string) => void;
}

const mostRunning = 64;
const mostWaiting = 256;
const mostRepeatsOfOne = 64;
const mostRepeats = 256; // of one identity
const mostReplyBytes = 8 << 20;
const mostLogLines = 1_024;
const mostLogChars = 256 << 10;
const mostEnded = 4_096; // ids of calls, for the answers to late cancels

/** Who asks, as far as the host knows. */
export interface Identity {
  /** What the connection proves. */
  proven: string;
  /** For whom a gateway says that it asks (`Crab-Principal`); "": it does not say. */
  principal: string;
}

/** Who waits for a call. */
export interface Caller {
  /** Told how far the call is. */
  follower?: CallFollower;
  /** Called with what is to be called when this caller leaves before the end. */
  onLeave?: (leave: () => void) => void;
  /** Of the span that its gateway has of the call; "": none. */
  traceparent?: string;
}

interface NewCall {
  identity: string;
  request: HostRequest;
  tool: OfferedTool;
  key: string;
  content: string;
  deadline: number;
}

/**
 * Runs the calls of a host, whatever brings them: checks, keys, places, deadlines, cancels. Source:
 * docs/protocols/rtp.md, section 3, rows 5 to 10.
 */
export class CallEngine {
  private readonly slots = new Slots(mostRunning, mostWaiting);
  private readonly running = new Set<Run>();
  private readonly early = new EarlyCancels();
  private readonly repeats = new Map<string, number>();
  private readonly ended = new Set<string>();
  private stopping = false;

  constructor(private readonly options: EngineOptions) {}

  /** The answer to `GET /v1/tools`. */
  discovery(): string {
    const tools = [...this.options.tools.values()]
      .sort((left, right) => (left.name < right.name ? -1 : 1))
      .map((tool) => tool.element);
    const { service } = this.options;
    return JSON.stringify({ version: "v1", service, keeps_callers_apart: true, tools });
  }

  /** One call, of the body of a request. */
  async call(asking: Identity, body: Uint8Array, caller: Caller = {}): Promise<CallReply> {
    let request: HostRequest;
    try {
      request = { ...parseCallRequest(body), traceparent: caller.traceparent ?? "" };
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      const { status, callId, tool, message } = error;
      const refused = failed("INVALID_ARGS", message);
      return { http: status, body: toResponse(callId, tool, refused), replayed: false };
    }
    const identity = this.identityOf(asking, request);
    const { outcome, replayed } = await this.admit(identity, request, caller);
    let answer = toResponse(request.callId, request.tool, outcome);
    if (Buffer.byteLength(answer) > mostReplyBytes)
      answer = toResponse(request.callId, request.tool, tooLarge(outcome));
    return { http: 200, body: answer, replayed };
  }

  /** The answer to `POST /v1/tools/cancel`. Throws a {@link BadRequest}. */
  cancel(asking: Identity, body: Uint8Array): string {
    const identity = identityOf(asking);
    const { tenantId, callId } = parseCancelRequest(body);
    let status = "not_found";
    for (const run of this.running) {
      if (run.identity !== identity || run.tenantId !== tenantId || run.callId !== callId) continue;
      run.cancel();
      status = "cancelling";
    }
    if (status === "not_found" && this.ended.has(idOf(identity, tenantId, callId)))
      status = "finished";
    if (status === "not_found") this.early.remember(identity, idOf(identity, tenantId, callId));
    return JSON.stringify({ version: "v1", call_id: callId, status });
  }

  /** Takes no more calls; gives those that run some time, then cancels them. */
  async stop(graceMs: number): Promise<void> {
    this.stopping = true;
    const all = Promise.all([...this.running].map((run) => run.finished));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([all, late]);
    clearTimeout(timer);
    for (const run of this.running) run.cancel();
  }

  /** Whose a call is. One on record from before its gateway named its callers stays nobody's. */
  private identityOf(asking: Identity, request: HostRequest): string {
    const before = this.options.calls.find(keyOf(asking.proven, request));
    return before?.durable ? asking.proven : identityOf(asking);
  }

  private async admit(
    identity: string,
    request: HostRequest,
    caller: Caller,
  ): Promise<{ outcome: Outcome; replayed: boolean }> {
    const fresh = (outcome: Outcome) => ({ outcome, replayed: false });
    const tool = this.options.tools.get(request.tool);
    const key = keyOf(identity, request);
    const content = contentOf(request);
    const asked = Math.min(request.timeoutMs ?? tool?.timeoutMs ?? longestCallMs, longestCallMs);
    const deadline = Date.now() + Math.min(asked, tool?.maxTimeoutMs ?? longestCallMs);
    if (tool) {
      const errors = tool.input.errors(request.args);
      if (errors[0]) {
        const details = { errors: errors as unknown as JsonObject[] };
        return fresh(failed("INVALID_ARGS", errors[0].message, details));
      }
    }
    for (;;) {
      const known = this.options.calls.find(key);
      if (!tool && !known)
        return fresh(failed("TOOL_NOT_FOUND", `this host has no tool ${request.tool}`));
      if (known && known.content !== content)
        return fresh(failed("CONFLICT", "the id or key came before with other content; use a new"));
      if (this.stopping) return fresh(failed("UNAVAILABLE", "this host is stopping"));
      if (known?.run) {
        const joined = await this.join(identity, known.run, deadline, caller);
        if (joined !== "again") return joined;
        continue;
      }
      const stored = known && (await this.options.calls.outcome(known));
      if (stored) return { outcome: stored, replayed: true };
      if (known && this.options.calls.find(key)?.run) continue; // another repeat was faster
      if (known && !tool?.idempotent)
        return fresh(
          failed("OUTCOME_UNKNOWN", "an earlier call with this id or key may have taken effect"),
        );
      if (!tool) continue;
      if (this.early.take(idOf(identity, request.tenantId, request.callId)))
        return fresh(cancelled());
      const call = { identity, request, tool, key, content, deadline };
      return fresh(await this.begin(call, caller));
    }
  }

  /** Waits for a call that runs already. */
  private async join(
    identity: string,
    run: Run,
    deadline: number,
    caller: Caller,
  ): Promise<{ outcome: Outcome; replayed: boolean } | "again"> {
    const fresh = (outcome: Outcome) => ({ outcome, replayed: false });
    const mine = this.repeats.get(identity) ?? 0;
    if (run.joined >= mostRepeatsOfOne || mine >= mostRepeats)
      return fresh(busy("too many repeats wait for this call; repeat it later"));
    this.repeats.set(identity, mine + 1);
    ++run.joined;
    try {
      const end = await this.follow(run, caller, () => run.wait(run.finished, deadline));
      if (end.how === "cancelled") return fresh(cancelled());
      if (end.how === "late") return fresh(timedOut(run.tool));
      if (!end.outcome) return "again";
      return { outcome: end.outcome, replayed: end.outcome.status !== "retryable_error" };
    } finally {
      --run.joined;
      const left = (this.repeats.get(identity) ?? 1) - 1;
      if (left > 0) this.repeats.set(identity, left);
      else this.repeats.delete(identity);
    }
  }

  /** Waits as one of the callers of a run. When the last one leaves early, the run is cancelled. */
  private async follow(run: Run, caller: Caller, wait: () => Promise<RunEnd>): Promise<RunEnd> {
    let there = true;
    const leave = () => {
      if (!there) return;
      there = false;
      --run.waiting;
      if (caller.follower) run.followers.delete(caller.follower);
    };
    ++run.waiting;
    if (caller.follower) run.followers.add(caller.follower);
    caller.onLeave?.(() => {
      leave();
      if (run.waiting === 0) run.cancel();
    });
    try {
      return await wait();
    } finally {
      leave();
    }
  }

  private async begin(
    { identity, request, tool, key, content, deadline }: NewCall,
    caller: Caller,
  ): Promise<Outcome> {
    const run = new Run(identity, request.tenantId, request.callId, tool);
    const known = this.options.calls.add(key, content, tool.sideEffects, run);
    this.running.add(run);
    const began = Date.now();
    const ended = this.carry(run, known, request, deadline).then((outcome) => {
      known.run = undefined;
      this.running.delete(run);
      this.rememberEnd(run);
      run.finish(outcome);
      return outcome;
    });
    const end = await this.follow(run, caller, () => run.wait(ended, deadline));
    if (end.how === "ended" && end.outcome) return end.outcome;
    let outcome = cancelled();
    if (end.how === "late") {
      outcome = run.started ? timedOut(tool) : tooBusy();
      run.abort.abort(new DOMException("the deadline has passed", "TimeoutError"));
    }
    return { ...outcome, durationMs: Date.now() - began };
  }

  /** From the place to what is stored; never throws. Nothing: nobody knows what the call did. */
  private async carry(
    run: Run,
    known: KnownCall,
    request: HostRequest,
    deadline: number,
  ): Promise<Outcome | undefined> {
    const { tool } = run;
    const { calls, log } = this.options;
    const notStarted = async (outcome: Outcome | undefined, recorded: boolean) => {
      await calls.drop(known, recorded).catch(() => {});
      return outcome;
    };
    const place = await this.slots.take(tool, deadline, run.abort.signal);
    if (place === "aborted") return notStarted(undefined, false);
    if (place !== "taken") return notStarted(tooBusy(), false);
    try {
      try {
        await calls.begin(known);
      } catch (error) {
        log(`a call cannot be stored: ${(error as Error).message}`);
        const outcome = failed("UNAVAILABLE", "this host cannot store the call; nothing was run");
        return await notStarted(outcome, false);
      }
      if (run.abort.signal.aborted) return await notStarted(undefined, true);
      run.started = true;
      const began = Date.now();
      const outcome = await this.handle(run, known, request, deadline);
      if (!outcome) return undefined;
      outcome.durationMs = Date.now() - began;
      if (outcome.status === "retryable_error") return await notStarted(outcome, true);
      await calls
        .end(known, outcome)
        .catch((error: Error) => log(`the end of a call cannot be stored: ${error.message}`));
      return outcome;
    } finally {
      this.slots.leave(tool.name);
    }
  }

  private async handle(
    run: Run,
    known: KnownCall,
    request: HostRequest,
    deadline: number,
  ): Promise<Outcome | undefined> {
    const logs: string[] = [];
    const { tool } = run;
    let value: HostResult;
    try {
      value = await tool.handler(this.seen(run, known, request, deadline, logs));
    } catch (thrown) {
      // after an abort a handler that gives up may have done half of its work
      if (run.abort.signal.aborted && !(thrown instanceof ToolError && thrown.code !== "CANCELLED"))
        return undefined;
      return { ...this.failure(run, thrown), logs };
    }
    try {
      const result = await resultOf(value);
      const outcome: Outcome = { ...checkedResult(tool, known, result), logs, durationMs: 0 };
      const bytes = Buffer.byteLength(JSON.stringify(outcome));
      return bytes > mostReplyBytes ? tooLarge(outcome) : outcome;
    } catch (error) {
      return { ...this.failure(run, error), logs };
    }
  }

  private seen(
    run: Run,
    known: KnownCall,
    request: HostRequest,
    deadline: number,
    logs: string[],
  ): HostCall {
    let logged = 0;
    return {
      id: request.callId,
      tool: request.tool,
      args: request.args,
      tenantId: request.tenantId,
      context: request.context,
      deadline,
      traceparent: request.traceparent,
      signal: run.abort.signal,
      operationId: known.operationId,
      log: (line) => {
        logged += line.length;
        if (logs.length < mostLogLines && logged <= mostLogChars) logs.push(line);
      },
      progress: (news) => {
        for (const follower of run.followers) follower.progress(news);
      },
    };
  }

  private failure(run: Run, thrown: unknown): Outcome {
    if (thrown instanceof ToolError) return failed(thrown.code, thrown.message);
    const why = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    this.options.log(`tool ${run.tool.name}, call ${run.callId}: ${why}`);
    return failed("INTERNAL", "the tool failed; its host's log says why");
  }

  private rememberEnd({ identity, tenantId, callId }: Run): void {
    if (this.ended.size >= mostEnded) this.ended.delete(this.ended.values().next().value as string);
    this.ended.add(idOf(identity, tenantId, callId));
  }
}

/** The result with its operation id, unless the tool gave one or its schema has no room for it. */
function checkedResult(
  tool: OfferedTool,
  known: KnownCall,
  result: JsonObject,
): Omit<Outcome, "durationMs"> {
  const named =
    tool.sideEffects && !("operation_id" in result)
      ? { ...result, operation_id: known.operationId }
      : result;
  if (!tool.output) return { status: "ok", result: named };
  // what is checked is what is sent: no undefined, no Date, nothing with toJSON()
  const plain = (value: JsonObject) => JSON.parse(JSON.stringify(value)) as JsonObject;
  if (tool.output.errors(plain(named)).length === 0) return { status: "ok", result: named };
  const errors = tool.output.errors(plain(result));
  if (!errors[0]) return { status: "ok", result };
  return failed("INTERNAL", `the tool's result does not fit its schema: ${errors[0].message}`);
}

function identityOf({ proven, principal }: Identity): string {
  return principal === "" ? proven : `${proven} for ${principal}`;
}

function idOf(identity: string, tenantId: string, callId: string): string {
  return JSON.stringify([identity, tenantId, callId]);
}

function tooBusy(): Outcome {
  return busy("this host is busy with other calls; repeat it later");
}

function cancelled(): Outcome {
  return failed("CANCELLED", "the call was cancelled");
}

function timedOut(tool: OfferedTool): Outcome {
  const outcome = failed(
    "TIMEOUT",
    "the tool did not answer before the deadline; it may still take effect",
  );
  if (outcome.error) outcome.error.retryable = tool.idempotent || !tool.sideEffects;
  return outcome;
}

function tooLarge(outcome: Outcome): Outcome {
  const why = `the result is larger than ${mostReplyBytes} bytes; ask for less`;
  const large = failed("OVERSIZE", why);
  return { ...large, durationMs: outcome.durationMs };
}
