const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Milliseconds since 1970 of `7d` (ago), `22:00` (the last time that it was), `2026-01-31` or a
 * whole RFC 3339 time; undefined if it is none of them.
 */
export function timeOf(text: string, now: number): number | undefined {
  const ago = /^(\d{1,4})([mhdw])$/.exec(text);
  if (ago) return now - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0);
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (clock) {
    const day = new Date(now);
    day.setHours(Number(clock[1]), Number(clock[2]), 0, 0);
    if (day.getTime() > now) day.setDate(day.getDate() - 1);
    return day.getTime();
  }
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2})?)?$/.test(text)) return undefined;
  const at = Date.parse(text.length === 10 ? `${text}T00:00` : text);
  return Number.isNaN(at) ? undefined : at;
}
