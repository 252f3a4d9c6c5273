import { signal } from "@preact/signals";

/** How far the gateway's clock is ahead of this browser's, in milliseconds: its time counts. */
export const clockAhead = signal(0);

/** The gateway's time, in milliseconds since 1970. */
export const now = (): number => Date.now() + clockAhead.value;

const SECOND_MS = 1_000;
let timer: ReturnType<typeof setInterval> | undefined;
const tick = signal(0, {
  watched: () => (timer = setInterval(() => (tick.value += 1), SECOND_MS)),
  unwatched: () => clearInterval(timer),
});

/** The gateway's time; whatever draws it is drawn again every second. */
export function nowEachSecond(): number {
  void tick.value;
  return now();
}
