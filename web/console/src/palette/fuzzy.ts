/** Something that the palette finds. */
export interface Entry {
  readonly kind: "page" | "action" | "device" | "principal" | "tool" | "call";
  readonly name: string;
  /** Where it leads, or what it does. */
  readonly run: () => void;
}

export const MOST_HITS = 50;

/**
 * How well a name fits what was typed: the letters in their order, best at the beginnings of words
 * and side by side; undefined if they are not all there. Linear in the name.
 */
export function score(typed: string, name: string): number | undefined {
  const letters = typed.toLowerCase();
  const text = name.toLowerCase();
  if (letters === "") return 0;
  const whole = text.indexOf(letters);
  if (whole >= 0) return 1_000 - whole - text.length / 100;
  let sum = 0;
  let at = -1;
  for (const letter of letters) {
    if (letter === " ") continue;
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    if (next === at + 1) sum += 5;
    if (next === 0 || /[\s_./-]/.test(text.charAt(next - 1))) sum += 8;
    sum -= Math.min(5, next - at - 1);
    at = next;
  }
  return sum - text.length / 100;
}

/** The entries that fit, the best first, at most so many. */
export function hits(typed: string, entries: readonly Entry[]): readonly Entry[] {
  const found: { entry: Entry; rank: number }[] = [];
  for (const entry of entries) {
    const rank = score(typed.trim(), entry.name);
    if (rank !== undefined) found.push({ entry, rank });
  }
  return found
    .sort((a, b) => b.rank - a.rank)
    .slice(0, MOST_HITS)
    .map(({ entry }) => entry);
}

/** Whether it may be the id of a call. */
export const isCallId = (typed: string): boolean => /^[\w.:-]{8,128}$/.test(typed.trim());
