import { type ErrorCode, errorCodes } from "./error-codes.js";
import type { Annotations, Caller, Json, JsonObject, ToolElement, UploadTerms } from "./frames.js";

/** A running call, as its handler sees it. */
export interface ToolCall {
  readonly id: string;
  /** The tool's name as it was registered. */
  readonly tool: string;
  readonly args: JsonObject;
  /** Who calls; both empty with a gateway that does not send it. */
  readonly caller: Caller;
  /** When the gateway stops waiting, on the clock of `Date.now()`. */
  readonly deadline: number;
  /** Of the gateway's span (W3C Trace Context), as parent of spans of your own; "": none. */
  readonly traceparent: string;
  /**
   * Aborted at the deadline, when the caller cancels, and when the device stops. A later result is
   * ignored.
   */
  readonly signal: AbortSignal;
  /**
   * Results above `inlineBytes` are uploaded, up to `maxBytes`; undefined: this gateway takes
   * no uploads, so keep results small.
   */
  readonly uploads: UploadTerms | undefined;
  /**
   * Tells the caller how far it is, at most a few times a second; dropped where the gateway does
   * not pass it on.
   */
  progress(news: { message?: string; progress?: number; total?: number }): void;
}

/**
 * The result of a call: text as a string, bytes (a photo, a file) as a `Blob` with its media type,
 * anything else as JSON. Bytes are uploaded and the caller gets `{"artifact":{"href",…}}`, or
 * `{"content_type","base64"}` where the gateway takes no uploads.
 */
export type ToolResult = Json | Blob;

/** Throw a {@link ToolError} for a failure. */
export type ToolHandler = (call: ToolCall) => ToolResult | Promise<ToolResult>;

/** A tool that a device offers. */
export interface Tool {
  /** `[A-Za-z0-9_.-]{1,128}`. */
  name: string;
  /** What it does, for the model that chooses it; at most 8 KiB. */
  description: string;
  /**
   * JSON Schema of the arguments object; the gateway checks arguments against it. Default: any
   * object.
   */
  parameters?: JsonObject;
  handler: ToolHandler;
  /** For callers that name none; default: the gateway's. */
  timeoutMs?: number;
  maxTimeoutMs?: number;
  maxConcurrency?: number;
  outputSchema?: JsonObject;
  /** It asks the person at the device. */
  interactive?: boolean;
  annotations?: Annotations;
}

/**
 * A failure that the caller reads as `CODE: message`. The message says what to do next and names no
 * secret.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";
  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** Another name of a code, as one of ours. */
export function asErrorCode(text: unknown): ErrorCode {
  return errorCodes.find((code) => code === text) ?? "INTERNAL";
}

const namePattern = /^[A-Za-z0-9_.-]{1,128}$/;
const maxDescriptionBytes = 8 << 10;

/** The tool as `register_tools` has it. Throws a TypeError for what no gateway would accept. */
export function toElement(tool: Tool): ToolElement {
  if (!namePattern.test(tool.name))
    throw new TypeError(
      `a tool's name is 1 to 128 of A-Z a-z 0-9 _ . -, not ${JSON.stringify(tool.name)}`,
    );
  const bytes = new TextEncoder().encode(tool.description).length;
  if (bytes === 0 || bytes > maxDescriptionBytes)
    throw new TypeError(
      `tool ${tool.name}: a description of 1 to ${maxDescriptionBytes} bytes is needed`,
    );
  const element: ToolElement = {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters ?? { type: "object" },
  };
  if (tool.timeoutMs !== undefined) element.timeout_ms = tool.timeoutMs;
  if (tool.maxTimeoutMs !== undefined) element.max_timeout_ms = tool.maxTimeoutMs;
  if (tool.maxConcurrency !== undefined) element.max_concurrency = tool.maxConcurrency;
  if (tool.outputSchema !== undefined) element.output_schema = tool.outputSchema;
  if (tool.interactive !== undefined) element.interactive = tool.interactive;
  if (tool.annotations !== undefined) element.annotations = tool.annotations;
  return element;
}
