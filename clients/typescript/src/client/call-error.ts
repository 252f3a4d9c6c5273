import type { JsonObject } from "../frames.js";
import type { CallStatus } from "../rtp.js";

/** What a {@link CallError} is made of. */
export interface CallFailure {
  /** As on the wire (docs/reference/errors.md, column RTP), such as `INVALID_ARGS`. */
  code: string;
  message: string;
  callId: string;
  tool: string;
  /** `no_answer`: the gateway did not answer this call. */
  status: Exclude<CallStatus, "ok"> | "no_answer";
  /** Of the answer; 0: there was none. */
  httpStatus?: number;
  details?: JsonObject | undefined;
  replayed?: boolean;
}

/**
 * A call that did not succeed. `OUTCOME_UNKNOWN`: the tool may or may not have run; look before you
 * call again.
 */
export class CallError extends Error implements CallFailure {
  override readonly name = "CallError";
  readonly code: string;
  readonly callId: string;
  readonly tool: string;
  readonly status: CallFailure["status"];
  readonly httpStatus: number;
  readonly details: JsonObject | undefined;
  readonly replayed: boolean;
  /** How often the request was sent. */
  attempts = 1;

  constructor(failure: CallFailure) {
    super(`${failure.code}: ${failure.message}`);
    this.code = failure.code;
    this.callId = failure.callId;
    this.tool = failure.tool;
    this.status = failure.status;
    this.httpStatus = failure.httpStatus ?? 0;
    this.details = failure.details;
    this.replayed = failure.replayed ?? false;
  }

  /** Whether the call had no effect and an unchanged repeat may succeed. */
  get retryable(): boolean {
    return this.status === "retryable_error";
  }
}
