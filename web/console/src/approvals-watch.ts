import { useEffect } from "preact/hooks";

import { follow } from "./follow";
import { eventsOf } from "./sse";
import { api, who } from "./store";

const WATCH = "/v1/admin/approvals/watch";

/** Reads questions until the stream ends or `signal` does; each one is news. */
async function watch(onNews: () => void, signal: AbortSignal): Promise<void> {
  const { body } = await api.open(WATCH, { accept: "text/event-stream", signal });
  if (!body) return;
  for await (const _ of eventsOf(body)) onNews();
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
      if (!document.hidden) void follow({ connect: (stop) => watch(onNews, stop) }, end.signal);
    };
    turn();
    document.addEventListener("visibilitychange", turn);
    return () => {
      document.removeEventListener("visibilitychange", turn);
      end.abort();
    };
  }, [onNews, signedIn]);
}
