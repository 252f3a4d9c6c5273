import { signal } from "@preact/signals";
import { type ComponentChildren, h } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { visible } from "./visible";

const PAUSE_MS = 5_000;
const MOST_WAITING = 5;
const MOST_SPOKEN = 200;

const polite = signal("");
const urgent = signal("");
let waiting: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

function next(): void {
  const text = waiting.shift();
  if (text !== undefined) polite.value = text;
  timer = text === undefined ? undefined : setTimeout(next, PAUSE_MS);
}

/** Tells a screen reader, one message in five seconds; of many that wait the oldest go. */
export function announce(said: string): void {
  const text = visible(said);
  waiting = [...waiting.filter((other) => other !== text), text].slice(-MOST_WAITING);
  if (timer === undefined) next();
}

/** Tells it at once, whatever it reads: a question that somebody has to decide. */
export function announceNow(text: string): void {
  urgent.value = visible(text);
}

interface Props {
  readonly as?: "p" | "span";
  readonly class?: string;
  /** It is being found out; it is told once that is over. */
  readonly busy?: boolean;
  readonly children: ComponentChildren;
}

/** Words that come and change, and are told then. Screen readers say what changes in a region that
 * was there before; one that comes together with its words is mostly left out, so these are told by
 * the page's own. */
export function Spoken({ as = "p", class: style, busy = false, children }: Props) {
  const box = useRef<HTMLElement>(null);
  const told = useRef("");
  useEffect(() => {
    const words = box.current?.textContent ?? "";
    if (busy || words === "" || words === told.current) return;
    told.current = words;
    announce(words.slice(0, MOST_SPOKEN));
  });
  return h(as, { ref: box, class: style, "aria-busy": busy || undefined }, children);
}

/** What `announce` speaks through; once in a page. */
export function LiveRegions() {
  return (
    <div class="unseen-caption">
      <p role="status" aria-live="polite">
        {polite.value}
      </p>
      <p role="alert">{urgent.value}</p>
    </div>
  );
}
