import { createHash } from "node:crypto";

import { uuid7 } from "../node/uuid7.js";
import type { HostRequest } from "./call-request.js";
import { Journal, type JournalEntry, type Place } from "./journal.js";
import type { Outcome } from "./outcome.js";
import type { Run } from "./run.js";
import { canonicalJson } from "./strict-json.js";

/** A call by its key, while it runs and as long as repeats of it are answered. */
export interface KnownCall {
  readonly key: string;
  readonly content: string;
  readonly operationId: string;
  readonly at: number;
  readonly durable: boolean;
  /** While its handler has not returned. */
  run: Run | undefined;
  /** How it ended; undefined with no run: nobody knows. */
  end: { outcome: Outcome; bytes: number } | Place | undefined;
}

const durableMs = 24 * 3_600_000;
const othersMs = 10 * 60_000;
const mostBytes = 64 << 20; // of outcomes in memory
const mostCalls = 200_000;
const sweepMs = 60_000;

/** The key of a call: the same for its repeats. */
export function keyOf(identity: string, request: HostRequest): string {
  const id =
    request.idempotencyKey === undefined
      ? ["call", request.callId]
      : ["key", request.idempotencyKey];
  return digest(JSON.stringify([identity, request.tenantId, ...id]));
}

/** What a repeat has to have in common with its call. */
export function contentOf(request: HostRequest): string {
  const { agentId, isolationKey } = request.context;
  return digest(canonicalJson([request.tool, request.args, agentId, isolationKey ?? null]));
}

/**
 * The calls that this host has admitted: those of tools with side effects for 24 hours, in a
 * journal if there is one; the others for ten minutes.
 */
export class KnownCalls {
  private readonly calls = new Map<string, KnownCall>();
  private bytes = 0;
  private sweptAt = Date.now();

  private constructor(private readonly journal: Journal | undefined) {}

  static inMemory(): KnownCalls {
    return new KnownCalls(undefined);
  }

  static async open(path: string): Promise<KnownCalls> {
    const { journal, entries } = await Journal.open(path, Date.now());
    const made = new KnownCalls(journal);
    for (const { key, content, operationId, at, outcome } of entries)
      made.calls.set(key, {
        key,
        content,
        operationId,
        at,
        durable: true,
        run: undefined,
        end: outcome,
      });
    return made;
  }

  find(key: string): KnownCall | undefined {
    const call = this.calls.get(key);
    if (!call || call.run || call.at + keptMs(call) > Date.now()) return call;
    this.forget(call);
    return undefined;
  }

  /** Takes the place of what was known under the key; its operation id stays. */
  add(key: string, content: string, durable: boolean, run: Run): KnownCall {
    const before = this.calls.get(key);
    if (before) this.forget(before);
    this.prune();
    const call: KnownCall = {
      key,
      content,
      operationId: before?.operationId ?? uuid7(),
      at: Date.now(),
      durable,
      run,
      end: undefined,
    };
    this.calls.set(key, call);
    return call;
  }

  /** Stores that the call is about to run, where that has to survive. */
  async begin(call: KnownCall): Promise<void> {
    if (call.durable) await this.journal?.begin(entryOf(call));
  }

  /** Stores the outcome, in memory even if the journal does not take it. */
  async end(call: KnownCall, outcome: Outcome): Promise<void> {
    const bytes = JSON.stringify(outcome).length;
    call.end = { outcome, bytes };
    this.bytes += bytes;
    this.freeMemory();
    if (!call.durable || !this.journal) return;
    const place = await this.journal.end(call.key, outcome);
    if (call.end && "bytes" in call.end) this.bytes -= call.end.bytes;
    call.end = place;
    if (this.journal.isLarge) await this.compact(this.journal);
  }

  /** The call had no effect: a repeat runs. */
  async drop(call: KnownCall, began: boolean): Promise<void> {
    this.forget(call);
    if (began && call.durable) await this.journal?.drop(call.key);
  }

  /** The outcome that repeats get; undefined when nobody knows it. */
  async outcome(call: KnownCall): Promise<Outcome | undefined> {
    if (!call.end || "outcome" in call.end) return call.end?.outcome;
    return this.journal?.outcome(call.end);
  }

  async close(): Promise<void> {
    await this.journal?.close();
  }

  private forget(call: KnownCall): void {
    if (this.calls.get(call.key) === call) this.calls.delete(call.key);
    if (call.end && "bytes" in call.end) this.bytes -= call.end.bytes;
    call.end = undefined;
  }

  private compact(journal: Journal): Promise<void> {
    const durable = () => [...this.calls.values()].filter((call) => call.durable).map(entryOf);
    return journal.compact(durable, ({ key, outcome }, place) => {
      const call = this.calls.get(key);
      if (call?.end && !("bytes" in call.end) && call.end === outcome) call.end = place;
    });
  }

  /** Calls whose time is over, and beyond the limit the oldest; calls that run stay. */
  private prune(): void {
    const now = Date.now();
    if (this.calls.size < mostCalls && now - this.sweptAt < sweepMs) return;
    this.sweptAt = now;
    for (const call of this.calls.values())
      if (!call.run && (call.at + keptMs(call) <= now || this.calls.size >= mostCalls))
        this.forget(call);
  }

  /**
   * Beyond the limit the oldest outcomes go. Their keys stay, so that none runs again: a repeat
   * of a tool that is not idempotent is OUTCOME_UNKNOWN then.
   */
  private freeMemory(): void {
    if (this.bytes <= mostBytes) return;
    for (const call of this.calls.values()) {
      if (!call.end || !("bytes" in call.end)) continue;
      this.bytes -= call.end.bytes;
      call.end = undefined;
      if (this.bytes <= mostBytes) return;
    }
  }
}

function entryOf({ key, content, operationId, at, end }: KnownCall): JournalEntry {
  const entry = { key, content, operationId, at };
  return end && !("bytes" in end) ? { ...entry, outcome: end } : entry;
}

function keptMs(call: KnownCall): number {
  return call.durable ? durableMs : othersMs;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
