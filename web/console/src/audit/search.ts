import { signal } from "@preact/signals";

import { ApiError } from "../api";
import type { CallRecord } from "../store";

/** A record of the log: of a call, or of something else that was done. */
export type AuditRecord = Partial<CallRecord> & {
  readonly event?: string;
  readonly by?: string;
  readonly [name: string]: unknown;
};

export interface AuditFound {
  readonly records: readonly (AuditRecord | string)[];
  readonly cursor?: string;
  readonly scanned_to?: string;
  readonly complete: boolean;
}

export interface Searched {
  readonly records: readonly AuditRecord[];
  readonly scannedTo?: string | undefined;
  readonly complete: boolean;
  readonly busy: boolean;
  readonly error?: ApiError;
}

const NOTHING: Searched = { records: [], complete: false, busy: false };
/** Records kept in the page; who wants more narrows the search, or exports. */
export const MOST_RECORDS = 5_000;

const asRecord = (found: AuditRecord | string): AuditRecord =>
  typeof found === "string" ? { event: "?", text: found } : found;

/** A search in the log, newest first, part by part: one request at a time, the latest counts. */
export class AuditSearch {
  readonly state = signal<Searched>(NOTHING);
  private cursor: string | undefined;
  private query = "";
  private round = 0;

  constructor(private readonly get: (path: string) => Promise<AuditFound>) {}

  /** Begins anew; goes on by itself until something is found or all was looked at. */
  start(query: URLSearchParams): Promise<void> {
    this.query = query.toString();
    this.cursor = undefined;
    this.state.value = NOTHING;
    this.round += 1;
    return this.read();
  }

  more(): Promise<void> {
    const { busy, complete } = this.state.value;
    return busy || complete ? Promise.resolve() : this.read();
  }

  end(): void {
    this.round += 1;
  }

  private async read(): Promise<void> {
    const round = this.round;
    const { error: _, ...rest } = this.state.value;
    this.state.value = { ...rest, busy: true };
    try {
      let found = false;
      do {
        const query = new URLSearchParams(this.query);
        if (this.cursor !== undefined) query.set("cursor", this.cursor);
        const part = await this.get(`/v1/admin/audit?${query}`);
        if (round !== this.round) return;
        this.take(part);
        found = part.records.length > 0;
      } while (!found && !this.state.value.complete);
      this.state.value = { ...this.state.value, busy: false };
    } catch (error) {
      if (round !== this.round) return;
      const failure =
        error instanceof ApiError ? error : new ApiError(0, "BAD_ANSWER", String(error));
      this.state.value = { ...this.state.value, busy: false, error: failure };
    }
  }

  private take({ records, cursor, scanned_to, complete }: AuditFound): void {
    this.cursor = cursor;
    this.state.value = {
      ...this.state.value,
      records: [...this.state.value.records, ...records.map(asRecord)].slice(0, MOST_RECORDS),
      scannedTo: scanned_to ?? this.state.value.scannedTo,
      complete: complete || cursor === undefined,
    };
  }
}

export interface Bucket {
  readonly from: number;
  readonly good: number;
  readonly bad: number;
}

/** Whether a record tells of something that did not go well. */
export const isBad = ({ status, decision }: AuditRecord): boolean =>
  decision === "deny" || (status !== undefined && !["ok", "dispatching"].includes(status));

/** How many records fall into each of `count` equal spans of time, the oldest first. */
export function histogram(records: readonly AuditRecord[], count: number): readonly Bucket[] {
  const times = records.map(({ time }) => Date.parse(time ?? "")).filter(Number.isFinite);
  if (times.length === 0) return [];
  const first = Math.min(...times);
  const width = Math.max(1, (Math.max(...times) - first) / count);
  const all = Array.from({ length: count }, (_, index) => ({
    from: first + index * width,
    good: 0,
    bad: 0,
  }));
  for (const record of records) {
    const at = Date.parse(record.time ?? "");
    const bucket = all[Math.min(count - 1, Math.floor((at - first) / width))];
    if (bucket) bucket[isBad(record) ? "bad" : "good"] += 1;
  }
  return all;
}
