import { signal } from "@preact/signals";

const PAUSE_MS = 5_000;
const MOST_WAITING = 5;

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
export function announce(text: string): void {
  waiting = [...waiting.filter((other) => other !== text), text].slice(-MOST_WAITING);
  if (timer === undefined) next();
}

/** Tells it at once, whatever it reads: a question that somebody has to decide. */
export function announceNow(text: string): void {
  urgent.value = text;
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
