import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const DEAD_MS = 500;
const LOOK_MS = 100;

/** Where something stands in its document, so that scrolling alone is no move. */
const placeOf = (box: Element): string => {
  const { left, top } = box.getBoundingClientRect();
  return `${Math.round(left + scrollX)},${Math.round(top + scrollY)}`;
};

/**
 * Whether `box` has stood still for half a second, and a question to ask at the press itself: a
 * tap that was meant for what stood there before must decide nothing.
 */
export function useSettled(box: RefObject<Element>): { settled: boolean; still: () => boolean } {
  const [settled, set] = useState(false);
  const seen = useRef({ place: "", since: 0 });
  const still = () => {
    if (!box.current) return false;
    const place = placeOf(box.current);
    if (place !== seen.current.place) seen.current = { place, since: performance.now() };
    return performance.now() - seen.current.since >= DEAD_MS;
  };
  useEffect(() => {
    const timer = setInterval(() => set(still()), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return { settled, still };
}
