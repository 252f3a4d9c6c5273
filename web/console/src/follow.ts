import { ApiError } from "./api";
import { pauseAfter } from "./poll";

const LONG_ENOUGH_MS = 5_000;

/** A pause that `signal` ends early, and `wake` too. */
function pause(ms: number, signal: AbortSignal, wake?: (now: () => void) => void): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    wake?.(end);
  });
}

export interface Following {
  /** Connects, and ends when the connection does. */
  readonly connect: (signal: AbortSignal) => Promise<void>;
  /** It is not connected; the next try is in so many milliseconds, or at once by `now`. */
  readonly onLost?: (inMs: number, now: () => void, error: unknown) => void;
  /** Refused in a way that another try does not change. */
  readonly onRefused?: (error: ApiError) => void;
}

/** A 4xx says something about the request; only too many of them, or a late one, may pass later. */
const isFinal = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  error.status >= 400 &&
  error.status < 500 &&
  ![408, 429].includes(error.status);

/**
 * Keeps a connection: after its end another one, with longer and longer pauses while none holds.
 * Ends with `signal`, and with a refusal that says more than "not now" (a 401 before all).
 */
export async function follow(what: Following, signal: AbortSignal): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    const before = Date.now();
    let failure: unknown;
    try {
      await what.connect(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (isFinal(error)) return what.onRefused?.(error);
      failure = error;
    }
    if (signal.aborted) return;
    if (Date.now() - before > LONG_ENOUGH_MS) failures = 1; // it was connected
    const ms = pauseAfter(failures, Math.random());
    await pause(ms, signal, (now) => what.onLost?.(ms, now, failure));
  }
}
