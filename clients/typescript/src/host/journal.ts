import { createReadStream, existsSync, statSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { createInterface } from "node:readline";

import { isJsonObject, parsedJson } from "../rtp.js";
import type { Outcome } from "./outcome.js";

/** Where in the file a written line is. */
export type Place = { offset: number; length: number };

/** What the file knows of one call. */
export interface JournalEntry {
  key: string;
  content: string;
  operationId: string;
  /** When it was admitted, on the clock of `Date.now()`. */
  at: number;
  /** Where its outcome is in the file; undefined: it has none. */
  outcome?: Place;
}

const keptMs = 24 * 3_600_000;
const smallBytes = 64 << 20; // no need to write a smaller file anew

/**
 * The calls of tools with side effects in a file, so that a key runs once across restarts and
 * crashes: one line before a call runs, one after. Lines are on the disk when append() returns;
 * lines that wait at the same time are written together.
 */
export class Journal {
  private waiting: Array<{ line: string; done: (place: Place) => void; no: (e: Error) => void }> =
    [];
  private writing: Promise<void> | undefined;
  private size = 0;
  private compactAbove = smallBytes;

  private constructor(
    private readonly path: string,
    private file: FileHandle,
  ) {}

  /** Opens the file and tells what is in it; what is older than a day is left out and dropped. */
  static async open(
    path: string,
    now: number,
  ): Promise<{ journal: Journal; entries: JournalEntry[] }> {
    const entries = new Map<string, JournalEntry & { text?: string }>();
    if (existsSync(path)) {
      if ((statSync(path).mode & 0o077) !== 0)
        throw new Error(`${path} can be read by others; run \`chmod 600\` on it`);
      const lines = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
      for await (const line of lines) readLine(line, entries);
    }
    const kept = [...entries.values()].filter((entry) => entry.at + keptMs > now);
    const journal = new Journal(path, await open(`${path}.new`, "w+", 0o600));
    for (const entry of kept) {
      await journal.write(beginLine(entry));
      if (entry.text === undefined) continue;
      entry.outcome = await journal.write(endLine(entry.key, entry.text));
      delete entry.text;
    }
    await journal.file.datasync();
    await rename(`${path}.new`, path);
    return { journal, entries: kept };
  }

  /** Whether what it holds of calls that are forgotten is worth writing it anew. */
  get isLarge(): boolean {
    return this.size > this.compactAbove;
  }

  /**
   * Writes the file anew with these calls alone; `moved` is told where the outcome of each is then.
   */
  async compact(
    kept: () => readonly JournalEntry[],
    moved: (entry: JournalEntry, place: Place) => void,
  ): Promise<void> {
    while (this.writing) await this.writing;
    this.writing = this.writeAnew(kept(), moved).finally(() => this.goOn());
    await this.writing;
  }

  /** The call is about to run. */
  async begin(entry: JournalEntry): Promise<void> {
    await this.append(beginLine(entry));
  }

  /** The call has ended; returns where its outcome is. */
  end(key: string, outcome: Outcome): Promise<Place> {
    return this.append(endLine(key, JSON.stringify(outcome)));
  }

  /** The call had no effect. */
  async drop(key: string): Promise<void> {
    await this.append(`${JSON.stringify({ drop: key })}\n`);
  }

  async outcome(place: Place): Promise<Outcome> {
    const bytes = Buffer.alloc(place.length);
    await this.file.read(bytes, 0, place.length, place.offset);
    const line = parsedJson(bytes.toString());
    if (!isJsonObject(line) || !isJsonObject(line["outcome"]))
      throw new Error("the file of calls is damaged");
    return line["outcome"] as unknown as Outcome;
  }

  async close(): Promise<void> {
    while (this.writing) await this.writing;
    await this.file.close();
  }

  private append(line: string): Promise<Place> {
    return new Promise((done, no) => {
      this.waiting.push({ line, done, no });
      if (!this.writing) this.goOn();
    });
  }

  private goOn(): void {
    this.writing =
      this.waiting.length === 0 ? undefined : this.writeAll().finally(() => this.goOn());
  }

  private async writeAnew(
    kept: readonly JournalEntry[],
    moved: (entry: JournalEntry, place: Place) => void,
  ): Promise<void> {
    const next = new Journal(this.path, await open(`${this.path}.new`, "w+", 0o600));
    const places: Array<[JournalEntry, Place]> = [];
    for (const entry of kept) {
      await next.write(beginLine(entry));
      if (!entry.outcome) continue;
      const outcome = JSON.stringify(await this.outcome(entry.outcome));
      places.push([entry, await next.write(endLine(entry.key, outcome))]);
    }
    await next.file.datasync();
    await rename(`${this.path}.new`, this.path);
    const old = this.file;
    this.file = next.file;
    this.size = next.size;
    this.compactAbove = Math.max(smallBytes, 2 * this.size);
    for (const [entry, place] of places) moved(entry, place);
    await old.close();
  }

  private async writeAll(): Promise<void> {
    await Promise.resolve(); // so that `writing` is set, and lines of the same turn go along
    while (this.waiting.length > 0) {
      const batch = this.waiting;
      this.waiting = [];
      const before = this.size;
      try {
        const places: Place[] = [];
        for (const { line } of batch) places.push(await this.write(line));
        await this.file.datasync();
        batch.forEach(({ done }, i) => done(places[i] as Place));
      } catch (error) {
        this.size = before; // what was written of it is written over
        await this.file.truncate(before).catch(() => {});
        for (const { no } of batch) no(error as Error);
      }
    }
  }

  private async write(line: string): Promise<Place> {
    const bytes = Buffer.from(line);
    const place = { offset: this.size, length: bytes.length };
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.file.write(
        bytes,
        at,
        bytes.length - at,
        place.offset + at,
      );
      at += bytesWritten;
    }
    this.size += bytes.length;
    return place;
  }
}

function beginLine({ key, content, operationId, at }: JournalEntry): string {
  return `${JSON.stringify({ begin: key, content, operation_id: operationId, at })}\n`;
}

function endLine(key: string, outcome: string): string {
  return `{"end":${JSON.stringify(key)},"outcome":${outcome}}\n`;
}

/** The last line of a file may be half a line, after a crash; its call has no outcome then. */
function readLine(text: string, entries: Map<string, JournalEntry & { text?: string }>): void {
  const line = parsedJson(text);
  if (!isJsonObject(line)) return;
  const { begin, end, drop, content, operation_id: operationId, at, outcome } = line;
  if (
    typeof begin === "string" &&
    typeof content === "string" &&
    typeof operationId === "string" &&
    typeof at === "number"
  ) {
    entries.set(begin, { key: begin, content, operationId, at });
  } else if (typeof end === "string" && isJsonObject(outcome)) {
    const entry = entries.get(end);
    if (entry) entry.text = JSON.stringify(outcome);
  } else if (typeof drop === "string") {
    entries.delete(drop);
  }
}
