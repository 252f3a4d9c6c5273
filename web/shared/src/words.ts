import { now } from "./now";
import { t } from "./strings/kit";
import { locale } from "./t";
import { cut, visible } from "./visible";

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
  return Number.isNaN(at.getTime()) ? visible(time) : at.toLocaleTimeString(locale());
};

/** The time, and the day where it is not today's. */
export const moment = (time: string): string => {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return visible(time);
  const today = new Date(now()).toDateString() === at.toDateString();
  const day = { dateStyle: "medium", timeStyle: "short" } as const;
  return today ? at.toLocaleTimeString(locale()) : at.toLocaleString(locale(), day);
};

/** 2 h ago, in 12 d: how far a time is from the gateway's. */
export function distance(time: string): string {
  const seconds = (Date.parse(time) - now()) / 1_000;
  if (Number.isNaN(seconds)) return visible(time);
  return t(seconds > 0 ? "time.in" : "time.ago", { span: span(Math.abs(seconds)) });
}

/** 4.1 MB: a size for a glance. */
export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  for (; size >= 1_000 && unit < units.length - 1; ++unit) size /= 1_000;
  const digits = { maximumFractionDigits: size < 10 && unit > 0 ? 1 : 0 };
  return `${new Intl.NumberFormat(locale(), digits).format(size)} ${units[unit]}`;
}

const MOST_OF_A_NAME = 120;

/** A name where no second button can unfold the rest: in a button, in a row of fixed height. */
export const shortName = (name: string): string =>
  name.length > MOST_OF_A_NAME ? `${cut(name, MOST_OF_A_NAME)}…` : name;
