import { useEffect, useRef } from "preact/hooks";

import { announce } from "./live";
import { nowEachSecond } from "./now";
import { t } from "./strings/kit";

const SPOKEN_AT = [60, 30, 10];
const MINUTE = 60;
const HOUR = 3_600;

/** 41 seconds left, 5 minutes left: whole units, never more than there is. */
export function leftWords(seconds: number): string {
  if (seconds <= 0) return t("left.gone");
  if (seconds < 2 * MINUTE) return t("left.seconds", { n: Math.floor(seconds) });
  if (seconds < 2 * HOUR) return t("left.minutes", { n: Math.floor(seconds / MINUTE) });
  return t("left.hours", { n: Math.floor(seconds / HOUR) });
}

/** Which of the spoken times was passed between two looks. */
export const passed = (before: number, now: number): number | undefined =>
  SPOKEN_AT.find((at) => before > at && now <= at);

/** The time until `until` (milliseconds of the gateway's clock) in words, spoken near its end. */
export function Countdown({ until, about }: { readonly until: number; readonly about?: string }) {
  const left = Math.max(0, Math.ceil((until - nowEachSecond()) / 1_000));
  const before = useRef(left);
  useEffect(() => {
    if (passed(before.current, left) !== undefined)
      announce([about, leftWords(left)].filter(Boolean).join(": "));
    before.current = left;
  }, [left, about]);
  return (
    <span class="countdown" role="timer" aria-live="off">
      {leftWords(left)}
    </span>
  );
}
