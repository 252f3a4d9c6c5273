import { locale } from "./t";
import { cut } from "./visible";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 4 s, 3 min, 2 h, 5 d: the largest unit alone is enough for a glance. */
export function span(seconds: number): string {
  if (seconds < MINUTE) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`;
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)} h` : `${Math.floor(seconds / DAY)} d`;
}

/** 485 µs, 12.1 ms, 4.1 s. */
export function duration(us: number): string {
  if (us < 1_000) return `${Math.round(us)} µs`;
  const [value, unit] = us < 1_000_000 ? [us / 1_000, "ms"] : [us / 1_000_000, "s"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export const count = (value: number): string => new Intl.NumberFormat(locale()).format(value);

export const clock = (time: string): string => {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? time : at.toLocaleTimeString(locale());
};

const MOST_OF_A_NAME = 120;

/** A name where no second button can unfold the rest: in a button, in a row of fixed height. */
export const shortName = (name: string): string =>
  name.length > MOST_OF_A_NAME ? `${cut(name, MOST_OF_A_NAME)}…` : name;
