export interface DiffLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

const MOST_CELLS = 1_000_000; // beyond it, all old lines and then all new ones
const CONTEXT = 3;

/** How long the longest common part of a[i..] and b[j..] is, for all i and j. */
function common(a: readonly string[], b: readonly string[]): Uint32Array[] {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; --i)
    for (let j = b.length - 1; j >= 0; --j)
      rows[i]![j] =
        a[i] === b[j] ? rows[i + 1]![j + 1]! + 1 : Math.max(rows[i + 1]![j]!, rows[i]![j + 1]!);
  return rows;
}

const signed = (sign: DiffLine["sign"], lines: readonly string[]): DiffLine[] =>
  lines.map((text) => ({ sign, text }));

function changed(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > MOST_CELLS) return [...signed("-", a), ...signed("+", b)];
  const rows = common(a, b);
  const found: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ sign: " ", text: a[i]! });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && rows[i + 1]![j]! >= rows[i]![j + 1]!)) {
      found.push({ sign: "-", text: a[i++]! });
    } else {
      found.push({ sign: "+", text: b[j++]! });
    }
  }
  return found;
}

/** What changed from one text to another, by lines; an empty text has none. */
export function diff(before: string, after: string): DiffLine[] {
  const [a, b] = [before, after].map((text) => (text === "" ? [] : text.split("\n"))) as [
    string[],
    string[],
  ];
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < Math.min(a.length, b.length) - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  )
    end += 1;
  return [
    ...signed(" ", a.slice(0, start)),
    ...changed(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...signed(" ", a.slice(a.length - end)),
  ];
}

/** The lines near a change; a number stands for that many equal lines that are left out. */
export function hunks(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const near = new Set<number>();
  lines.forEach(({ sign }, index) => {
    if (sign !== " ") for (let at = index - CONTEXT; at <= index + CONTEXT; ++at) near.add(at);
  });
  const found: (DiffLine | number)[] = [];
  let left = 0;
  lines.forEach((line, index) => {
    if (!near.has(index)) left += 1;
    else {
      if (left > 0) found.push(left);
      left = 0;
      found.push(line);
    }
  });
  return left > 0 ? [...found, left] : found;
}

/** A value or a text of JSON, put in form; other texts as they are. */
export function inForm(value: unknown): string {
  if (value === undefined || value === "") return "";
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
