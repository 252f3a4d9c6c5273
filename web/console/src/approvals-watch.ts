import { useEffect } from "preact/hooks";

import { ApiError } from "./api";
import { pauseAfter } from "./poll";
import { eventsOf } from "./sse";
import { api, who } from "./store";

const WATCH = "/v1/admin/approvals/watch";

/** Reads questions until the stream ends or `signal` does; each one is news. */
async function watch(onNews: () => void, signal: AbortSignal): Promise<void> {
  const { body } = await api.open(WATCH, { accept: "text/event-stream", signal });
  if (!body) return;
  for await (const _ of eventsOf(body)) onNews();
}

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });

async function keepWatching(onNews: () => void, signal: AbortSignal): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    const before = Date.now();
    try {
      await watch(onNews, signal);
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.status === 401)) return;
    }
    if (Date.now() - before > pauseAfter(failures, 1)) failures = 0; // it was connected
    await pause(pauseAfter(Math.max(1, failures), Math.random()), signal);
  }
}

/**
 * Counts this page as somebody to ask, only while it is seen: a call would wait in vain for a
 * person who does not look. `onNews` is called with every question and every end.
 */
export function useWatching(onNews: () => void): void {
  const signedIn = who.value.state === "in";
  useEffect(() => {
    if (!signedIn) return undefined;
    let end = new AbortController();
    const turn = () => {
      end.abort();
      end = new AbortController();
      if (!document.hidden) void keepWatching(onNews, end.signal);
    };
    turn();
    document.addEventListener("visibilitychange", turn);
    return () => {
      document.removeEventListener("visibilitychange", turn);
      end.abort();
    };
  }, [onNews, signedIn]);
}
