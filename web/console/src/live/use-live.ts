import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { waiting } from "../page-title";
import type { Poll } from "../poll";
import { api, chatsOnly, who } from "../store";
import { LiveHub } from "./hub";
import type { Live } from "./state";

export const hub = new LiveHub(api);

/** Keeps the stream while somebody is signed in who may read it. Once in a page. */
export function useStream(): void {
  const reads = who.value.state === "in" && !chatsOnly.value;
  useEffect(() => {
    if (!reads) return undefined;
    const stop = hub.start();
    const count = effect(() => {
      if (hub.live.value.epoch > 0) waiting.value = hub.live.value.questions.size;
    });
    return () => {
      count();
      stop();
    };
  }, [reads]);
}

/** Whether the stream tells what changes, so that nothing has to be read again and again. */
export const isLive = (): boolean => hub.link.value.state === "live" && hub.live.value.epoch > 0;

/** Reads anew when the stream begins again, and when what `change` counts has changed. */
export function useNews(poll: Poll<unknown>, change: (live: Live) => number): void {
  const { epoch } = hub.live.value;
  const changes = change(hub.live.value);
  const known = useRef({ epoch, changes });
  useEffect(() => {
    const { current } = known;
    known.current = { epoch, changes };
    if (current.epoch !== epoch || current.changes !== changes) void poll.again();
  }, [poll, epoch, changes]);
}
