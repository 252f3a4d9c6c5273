import { signal } from "@preact/signals";

import { ApiError } from "./api";

/** A tool in a list, without its schemas. `state` is the gateway's word for whether it is open. */
export interface ToolRow {
  readonly name: string;
  readonly qualified_name: string;
  readonly source: string;
  readonly title?: string;
  readonly brief?: string;
  readonly effects?: string;
  readonly state: string;
  readonly tokens?: number;
  /** Why it is held back or rejected. */
  readonly reason?: string;
}

export interface ToolPage {
  readonly generation: number;
  readonly total: number;
  readonly tools: readonly ToolRow[];
}

export interface ToolQuery {
  readonly q: string;
  readonly source: string;
  readonly state: string;
}

export interface ToolsShown {
  readonly total?: number;
  readonly rows: ReadonlyMap<number, readonly ToolRow[]>;
  readonly error?: ApiError;
}

export const PAGE_ROWS = 200;
/** Pages kept at once: the list may have 100 000 tools, a screen shows some dozens. */
const MOST_PAGES = 12;
/** Without a move of the window: every page kept, and once more after a change. */
const MOST_REQUESTS = 2 * MOST_PAGES;

export function toolsPath({ q, source, state }: ToolQuery, offset: number): string {
  const query = new URLSearchParams({ view: "brief" });
  for (const [name, value] of Object.entries({ q, source, state }))
    if (value !== "") query.set(name, value);
  query.set("offset", String(offset));
  return `/v1/admin/tools?${query}`;
}

/** Which rows stand in a window of `height` pixels at `top`, with `more` beyond both ends. */
export function rowsAt(top: number, height: number, row: number, total: number, more = 8) {
  const first = Math.max(0, Math.min(total, Math.floor(top / row)) - more);
  const end = Math.min(total, Math.ceil((Math.max(0, top) + height) / row) + more);
  return { first, end: Math.max(first, end) };
}

/**
 * A long list of tools of which only the pages around the window are read, one request at a time.
 * Once an answer has another generation than the pages before it, these are read again: rows of
 * two lists side by side would show a tool twice, or not at all.
 */
export class ToolPages {
  readonly state = signal<ToolsShown>({ rows: new Map() });
  private generation: number | undefined;
  private reading = false;
  private ended = false;
  private wanted: readonly number[] = [0];

  constructor(
    private readonly query: ToolQuery,
    private readonly get: (path: string) => Promise<ToolPage>,
  ) {}

  /** Reads what the rows from `first` to before `end` need; the latest wish counts. */
  async want(first: number, end: number): Promise<void> {
    const pages: number[] = [];
    for (let page = Math.floor(first / PAGE_ROWS); page * PAGE_ROWS < Math.max(end, 1); ++page)
      pages.push(page);
    this.wanted = pages.slice(0, MOST_PAGES);
    if (this.reading || this.state.value.error) return;
    this.reading = true;
    try {
      let left = MOST_REQUESTS; // a list that changes with each answer is never whole
      for (let page = this.missing(); page !== undefined && left > 0; page = this.missing()) {
        left -= 1;
        this.take(page, await this.get(toolsPath(this.query, page * PAGE_ROWS)));
      }
    } catch (error) {
      const failure =
        error instanceof ApiError ? error : new ApiError(0, "BAD_ANSWER", String(error));
      if (!this.ended) this.state.value = { ...this.state.value, error: failure };
    } finally {
      this.reading = false;
    }
  }

  /** After a failure: what is missing once more. */
  retry(): Promise<void> {
    const { error: _, ...rest } = this.state.value;
    this.state.value = rest;
    const first = this.wanted[0] ?? 0;
    return this.want(first * PAGE_ROWS, (first + this.wanted.length) * PAGE_ROWS);
  }

  end(): void {
    this.ended = true;
  }

  row(index: number): ToolRow | undefined {
    return this.state.value.rows.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  private missing(): number | undefined {
    if (this.ended) return undefined;
    const { rows, total } = this.state.value;
    return this.wanted.find(
      (page) => !rows.has(page) && (total === undefined || page === 0 || page * PAGE_ROWS < total),
    );
  }

  private take(page: number, { generation, total, tools }: ToolPage): void {
    if (this.ended) return;
    if (!Array.isArray(tools) || !Number.isSafeInteger(total) || total < 0)
      throw new ApiError(200, "BAD_ANSWER", "the gateway's answer is no page of tools");
    const rows = new Map(generation === this.generation ? this.state.value.rows : []);
    this.generation = generation;
    rows.set(page, tools.slice(0, PAGE_ROWS));
    for (const kept of rows.keys())
      if (rows.size > MOST_PAGES && !this.wanted.includes(kept)) rows.delete(kept);
    this.state.value = { total, rows };
  }
}
