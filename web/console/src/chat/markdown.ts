/** A part of a line. `link` has only http and https addresses. */
export type Inline =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "em"; readonly parts: readonly Inline[] }
  | { readonly kind: "link"; readonly href: string; readonly parts: readonly Inline[] };

export type Block =
  | { readonly kind: "paragraph" | "heading"; readonly parts: readonly Inline[] }
  | { readonly kind: "code"; readonly text: string; readonly language: string }
  | { readonly kind: "list"; readonly ordered: boolean; readonly items: readonly ListItem[] }
  | { readonly kind: "table"; readonly head: Row; readonly rows: readonly Row[] };

export type Row = readonly (readonly Inline[])[];
export interface ListItem {
  readonly depth: number;
  readonly parts: readonly Inline[];
}

const MOST_DEPTH = 6;
const MOST_LINK = 500; // characters of a link's text, and of its address 2000
const MOST_HREF = 2_000;
const MOST_INLINE = 50_000; // beyond it a text is shown as it is
const MOST_COLUMNS = 30;

/** An address that may be followed, as the browser would write it. */
export function httpAddress(text: string): string | undefined {
  if (text.length > MOST_HREF || /[\s\u0000-\u001f]/.test(text)) return undefined;
  if (!/^https?:\/\//i.test(text)) return undefined;
  try {
    const found = new URL(text);
    return found.username || found.password ? undefined : found.href;
  } catch {
    return undefined;
  }
}

interface Found {
  readonly part: Inline;
  readonly end: number;
}

function codeAt(text: string, at: number): Found | undefined {
  const ticks = /`+/y;
  ticks.lastIndex = at;
  const fence = ticks.exec(text)?.[0] ?? "";
  const close = text.indexOf(fence, at + fence.length);
  if (close < 0 || fence.length > 2) return undefined;
  const inner = text.slice(at + fence.length, close);
  return { part: { kind: "code", text: inner }, end: close + fence.length };
}

function markedAt(text: string, at: number, depth: number): Found | undefined {
  const sign = text.charAt(at);
  const mark = text.charAt(at + 1) === sign ? sign + sign : sign;
  const from = at + mark.length;
  const close = text.indexOf(mark, from);
  if (close <= from || /\s/.test(text.charAt(from)) || /\s/.test(text.charAt(close - 1)))
    return undefined;
  // snake_case is no emphasis
  const beside = /\w/.test(text.charAt(at - 1)) || /\w/.test(text.charAt(close + mark.length));
  if (sign === "_" && beside) return undefined;
  const parts = inline(text.slice(from, close), depth + 1);
  return { part: { kind: mark.length > 1 ? "strong" : "em", parts }, end: close + mark.length };
}

function linkAt(text: string, at: number, depth: number): Found | undefined {
  const window = text.slice(at, at + MOST_LINK + MOST_HREF);
  const found = /^\[([^[\]\n]{1,500})\]\(([^()\s]{1,2000})\)/.exec(window);
  const href = found && httpAddress(found[2] ?? "");
  if (!found || !href) return undefined;
  const parts = inline(found[1] ?? "", depth + 1);
  return { part: { kind: "link", href, parts }, end: at + found[0].length };
}

function partAt(text: string, at: number, depth: number): Found | undefined {
  const sign = text.charAt(at);
  if (sign === "`") return codeAt(text, at);
  if (sign === "[") return linkAt(text, at, depth);
  return markedAt(text, at, depth);
}

/** A text with its marks taken apart; what is no mark is text. */
export function inline(text: string, depth = 0): readonly Inline[] {
  if (depth > MOST_DEPTH || text.length > MOST_INLINE) return [{ kind: "text", text }];
  const parts: Inline[] = [];
  let plain = "";
  const flush = () => {
    if (plain !== "") parts.push({ kind: "text", text: plain });
    plain = "";
  };
  const dead = new Set<string>(); // marks that have no end from here on
  for (let at = 0; at < text.length;) {
    const sign = text.charAt(at);
    if (sign === "\\" && /[\\`*_[\]()#|-]/.test(text.charAt(at + 1))) {
      plain += text.charAt(at + 1);
      at += 2;
      continue;
    }
    const special = sign === "`" || sign === "*" || sign === "_" || sign === "[";
    const mark = sign !== "[" && text.charAt(at + 1) === sign ? sign + sign : sign;
    if (special && !dead.has(mark)) {
      const found = partAt(text, at, depth);
      if (found) {
        flush();
        parts.push(found.part);
        at = found.end;
        continue;
      }
      if (text.indexOf(sign === "[" ? "](" : mark, at + mark.length) < 0) dead.add(mark);
      plain += sign === "[" ? sign : mark;
      at += mark.length;
      continue;
    }
    plain += sign;
    at += 1;
  }
  flush();
  return parts;
}

const ITEM = /^(\s{0,12})(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;
const FENCE = /^\s{0,3}(```+|~~~+)\s*([\w+-]{0,30})/;
const RULE = /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/;

const cells = (line: string): Row =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|", MOST_COLUMNS)
    .map((cell) => inline(cell.trim()));

/** The lines of a text one after the other. */
class Reader {
  readonly blocks: Block[] = [];
  private at = 0;
  private paragraph: string[] = [];

  constructor(private readonly lines: readonly string[]) {}

  read(): readonly Block[] {
    while (this.at < this.lines.length) this.step(this.lines[this.at] ?? "");
    this.end();
    return this.blocks;
  }

  private end(): void {
    if (this.paragraph.length > 0)
      this.blocks.push({ kind: "paragraph", parts: inline(this.paragraph.join("\n")) });
    this.paragraph = [];
  }

  private step(line: string): void {
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (fence) return this.code(fence[1] ?? "```", fence[2] ?? "");
    if (line.trim() === "") this.end();
    else if (heading) {
      this.end();
      this.blocks.push({ kind: "heading", parts: inline(heading[1] ?? "") });
    } else if (ITEM.test(line)) return this.list();
    else if (line.includes("|") && RULE.test(this.lines[this.at + 1] ?? "")) return this.table();
    else this.paragraph.push(line);
    this.at += 1;
  }

  private code(fence: string, language: string): void {
    this.end();
    const text: string[] = [];
    for (this.at += 1; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at] ?? "";
      if (line.trim().startsWith(fence)) break;
      text.push(line);
    }
    this.at += 1;
    this.blocks.push({ kind: "code", text: text.join("\n"), language });
  }

  private list(): void {
    this.end();
    const items: ListItem[] = [];
    const first = ITEM.exec(this.lines[this.at] ?? "");
    for (; this.at < this.lines.length; this.at += 1) {
      const found = ITEM.exec(this.lines[this.at] ?? "");
      if (!found) break;
      const depth = Math.min(MOST_DEPTH, Math.floor((found[1] ?? "").length / 2));
      items.push({ depth, parts: inline(found[3] ?? "") });
    }
    this.blocks.push({ kind: "list", ordered: first?.[2] !== undefined, items });
  }

  private table(): void {
    this.end();
    const head = cells(this.lines[this.at] ?? "");
    const rows: Row[] = [];
    for (this.at += 2; this.at < this.lines.length; this.at += 1) {
      const line = this.lines[this.at] ?? "";
      if (!line.includes("|")) break;
      rows.push(cells(line).slice(0, head.length));
    }
    this.blocks.push({ kind: "table", head, rows });
  }
}

/** A text in a subset of Markdown: no HTML, no pictures, no links that were not written as such. */
export const markdown = (text: string): readonly Block[] => new Reader(text.split("\n")).read();

/**
 * The text cut where blocks end, so that of one that grows only the last piece is read anew. Code
 * between fences stays in one piece.
 */
export function pieces(text: string): readonly string[] {
  const found: string[] = [];
  let piece: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence === "" && mark !== "") fence = mark;
    else if (fence !== "" && line.trim().startsWith(fence)) fence = "";
    if (line.trim() === "" && fence === "") {
      if (piece.length > 0) found.push(piece.join("\n"));
      piece = [];
    } else piece.push(line);
  }
  if (piece.length > 0) found.push(piece.join("\n"));
  return found;
}

const HOSTLIKE = /(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+[\p{L}]{2,})/giu;

/** Whether a link's text names a host, and not the one that it leads to. */
export function namesAnotherHost(text: string, href: string): boolean {
  const host = new URL(href).hostname.toLowerCase();
  const named = [...text.slice(0, MOST_LINK).matchAll(HOSTLIKE)].map(([, name = ""]) =>
    name.toLowerCase(),
  );
  return named.some((name) => name !== host);
}
