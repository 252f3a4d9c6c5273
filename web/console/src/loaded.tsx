import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { ErrorCard } from "@crab/web-shared/error-card";
import { Skeleton } from "@crab/web-shared/skeleton";
import { clock } from "@crab/web-shared/words";

import { Poll } from "./poll";
import { who } from "./store";
import { t } from "./strings/shell";

/** A value of the gateway, read while this is drawn and somebody is signed in; anew for other
 * `inputs`. */
export function usePoll<T>(
  read: () => Promise<T>,
  everyMs: number,
  inputs: readonly unknown[] = [],
): Poll<T> {
  const poll = useMemo(() => new Poll(read, everyMs), inputs);
  useEffect(() => poll.every(everyMs), [poll, everyMs]);
  const signedIn = who.value.state === "in";
  useEffect(() => {
    if (!signedIn) return undefined;
    const seen = () => {
      if (!document.hidden) void poll.again();
    };
    document.addEventListener("visibilitychange", seen);
    const stop = poll.start();
    return () => {
      document.removeEventListener("visibilitychange", seen);
      stop();
    };
  }, [poll, signedIn]);
  return poll;
}

interface Props<T> {
  readonly poll: Poll<T>;
  readonly size?: "page" | "card" | "line";
  readonly children: (data: T) => ComponentChildren;
}

/** What was read; before it its place, and after a failure the failure above what there was. */
export function Loaded<T>({ poll, size = "page", children }: Props<T>) {
  const { data, error, at } = poll.state.value;
  return (
    <>
      {error && error.status !== 401 && (
        <ErrorCard error={error} onRetry={() => void poll.again()}>
          {at !== undefined && <p>{t("loaded.at", { at: clock(new Date(at).toISOString()) })}</p>}
        </ErrorCard>
      )}
      {data === undefined && !error && <Skeleton size={size} />}
      {data !== undefined && <div class={error ? "old" : undefined}>{children(data)}</div>}
    </>
  );
}
