import type { Annotations, Json, JsonObject } from "../frames.js";
import { type CallContext, longestCallMs } from "../rtp.js";
import type { ArgsOf, Schema } from "../schema-types.js";
import { JsonSchema } from "./json-schema.js";

/** A running call, as its handler sees it. */
export interface HostCall<Args = JsonObject> {
  readonly id: string;
  readonly tool: string;
  /** They fit the tool's `parameters`. */
  readonly args: Args;
  readonly tenantId: string;
  /** Claims of the caller, as its gateway passes them on. */
  readonly context: CallContext;
  /** When the answer leaves, whatever the handler does, on the clock of `Date.now()`. */
  readonly deadline: number;
  /** Of the gateway's span (W3C Trace Context), as parent of spans of your own; "": none. */
  readonly traceparent: string;
  /**
   * Aborted at the deadline, when the caller cancels, and when the host stops. A result after that
   * serves repeats of the call only.
   */
  readonly signal: AbortSignal;
  /** The same for repeats of this call, also after a restart; a UUID. */
  readonly operationId: string;
  /** A line in the answer's `logs`. */
  log(line: string): void;
  /** Tells a caller that follows the call as a stream. */
  progress(news: { message?: string; progress?: number; total?: number }): void;
}

/** Text as a string, bytes as a `Blob` or `Uint8Array`, anything else as JSON. */
export type HostResult = Json | Blob | Uint8Array | undefined;

/** A tool that a host offers. */
export interface HostTool<S extends Schema = Schema> {
  /** `[A-Za-z0-9_.-]{1,128}`. */
  name: string;
  /** What it does, for the model that chooses it; 1 to 8192 bytes. */
  description: string;
  title?: string;
  /** JSON Schema of the arguments, draft 2020-12, which is enforced; default: any object. */
  parameters?: S;
  /** Of the result, which is an object; enforced too. */
  outputSchema?: Schema;
  /** For callers that name none; default 30 s. */
  timeoutMs?: number;
  /** Default 120 s, which is the most. */
  maxTimeoutMs?: number;
  /** A repeat has no second effect. */
  idempotent?: boolean;
  /**
   * It changes something, unless this is false: its calls are stored before they run, and its
   * results get an `operation_id`.
   */
  sideEffects?: boolean;
  /** Default: what the host allows. */
  maxConcurrency?: number;
  annotations?: Annotations;
  /**
   * Runs a call. Throw a ToolError for a failure; its codes `RATE_LIMITED` and `UNAVAILABLE`
   * promise that the call had no effect. Anything else that is thrown is `INTERNAL` for the caller.
   */
  handler: (call: HostCall<ArgsOf<S>>) => HostResult | Promise<HostResult>;
}

/** A tool with what is made of it once. */
export interface OfferedTool {
  readonly name: string;
  readonly handler: (call: HostCall) => HostResult | Promise<HostResult>;
  readonly input: JsonSchema;
  readonly output: JsonSchema | undefined;
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly idempotent: boolean;
  readonly sideEffects: boolean;
  readonly maxConcurrency: number;
  /** As discovery has it. */
  readonly element: JsonObject;
}

const maxDescriptionBytes = 8 << 10;
const usualTimeoutMs = 30_000;

/** Throws a TypeError for what no gateway would accept. */
export function offered(tool: HostTool): OfferedTool {
  const wrong = (what: string) => new TypeError(`tool ${JSON.stringify(tool.name)}: ${what}`);
  if (!/^[A-Za-z0-9_.-]{1,128}$/.test(tool.name))
    throw wrong("a name is 1 to 128 of A-Z a-z 0-9 _ . -");
  const bytes = Buffer.byteLength(tool.description);
  if (bytes < 1 || bytes > maxDescriptionBytes)
    throw wrong(`a description of 1 to ${maxDescriptionBytes} bytes is needed`);
  const maxTimeoutMs = tool.maxTimeoutMs ?? longestCallMs;
  const timeoutMs = tool.timeoutMs ?? Math.min(usualTimeoutMs, maxTimeoutMs);
  for (const ms of [timeoutMs, maxTimeoutMs])
    if (!Number.isInteger(ms) || ms < 1 || ms > longestCallMs)
      throw wrong(`timeouts are integers from 1 to ${longestCallMs}`);
  if (timeoutMs > maxTimeoutMs) throw wrong("timeoutMs is above maxTimeoutMs");
  const { maxConcurrency } = tool;
  if (maxConcurrency !== undefined && (!Number.isInteger(maxConcurrency) || maxConcurrency < 1))
    throw wrong("maxConcurrency is an integer from 1");
  const input = (tool.parameters ?? { type: "object" }) as unknown as JsonObject;
  const output = tool.outputSchema as unknown as JsonObject | undefined;
  const sideEffects = tool.sideEffects ?? true;
  const idempotent = tool.idempotent ?? false;
  const element: JsonObject = {
    name: tool.name,
    ...(tool.title !== undefined && { title: tool.title }),
    description: tool.description,
    input_schema: input,
    output_schema: output ?? { type: "object" },
    timeout_ms_default: timeoutMs,
    timeout_ms_max: maxTimeoutMs,
    idempotent,
    side_effects: sideEffects,
    accepts_idempotency_key: true,
    ...(maxConcurrency !== undefined && { max_concurrency: maxConcurrency }),
    ...(tool.annotations && { annotations: tool.annotations as JsonObject }),
  };
  let schema = "parameters";
  try {
    const compiled = new JsonSchema(input);
    schema = "outputSchema";
    return {
      name: tool.name,
      handler: tool.handler as unknown as OfferedTool["handler"],
      input: compiled,
      output: output && new JsonSchema(output),
      timeoutMs,
      maxTimeoutMs,
      idempotent,
      sideEffects,
      maxConcurrency: maxConcurrency ?? Infinity,
      element: JSON.parse(JSON.stringify(element)) as JsonObject,
    };
  } catch (error) {
    throw wrong(`${schema}: ${(error as Error).message}`);
  }
}
