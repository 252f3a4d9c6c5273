import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { follow } from "../follow";
import { eventsOf } from "../sse";
import { api } from "../store";
import { isLive } from "./use-live";
import { type Live, nothing, told } from "./state";

const TYPING_MS = 400;
const DRAW_MS = 250;

/**
 * The calls that fit a filter, which the gateway applies before it samples: a stream of this page,
 * for as long as there is a filter. Undefined without one.
 */
export function useFiltered(filter: string): Live | undefined {
  const found = useMemo(() => signal<Live>(nothing), [filter]);
  const wanted = filter.trim() !== "" && isLive();
  useEffect(() => {
    if (!wanted) return undefined;
    const stop = new AbortController();
    let now = nothing;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      timer = undefined;
      found.value = now;
    };
    const connect = async (signal: AbortSignal) => {
      const query = new URLSearchParams({ topics: "calls", rate: "20", filter });
      const opening = { accept: "text/event-stream", signal };
      const { body } = await api.open(`/v1/admin/stream?${query}`, opening);
      if (!body) return;
      for await (const { event, data } of eventsOf(body)) {
        // whether a call without a record would fit, nobody knows
        now = told(now, event, { ...JSON.parse(data), unrecorded: 0 }, Date.now());
        timer ??= setTimeout(draw, DRAW_MS);
      }
    };
    const begin = setTimeout(() => void follow({ connect }, stop.signal), TYPING_MS);
    return () => {
      clearTimeout(begin);
      clearTimeout(timer);
      stop.abort();
    };
  }, [found, filter, wanted]);
  return wanted ? found.value : undefined;
}
