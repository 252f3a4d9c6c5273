import type { CallNews, JsonObject } from "@crab/device";

import type { Given } from "./tools/page-tool.js";

/** A call as the page shows it. */
export interface Entry extends CallNews {
  startedAt: number;
  args?: JsonObject;
  /** Nobody was asked: an answer that lasts allowed it. */
  remembered?: true;
  /** What left the device with it. */
  given?: Given;
}

const mostEnded = 30;
const key = "crab.calls";

/** The calls that run and the last ones that ended, newest first. */
export class Activity {
  private readonly runningById = new Map<string, Entry>();
  private readonly askedAbout = new Set<string>();
  private endedList: Entry[];

  /** `kept`: where ended calls outlive the page, without their arguments and pictures. */
  constructor(
    private readonly changed: () => void,
    private readonly kept?: Pick<Storage, "getItem" | "setItem">,
  ) {
    this.endedList = read(kept?.getItem(key) ?? null);
  }

  /** Records a step of a call. */
  readonly onCall = (news: CallNews): void => {
    const before = this.runningById.get(news.id);
    const { startedAt = news.at, args, remembered, given } = before ?? {};
    const entry: Entry = {
      ...news,
      startedAt,
      ...(args && { args }),
      ...(remembered && { remembered }),
      ...(given && { given }),
    };
    if (news.phase === "waiting" || news.phase === "running") {
      if (news.phase === "running" && !this.askedAbout.has(news.id)) entry.remembered = true;
      this.runningById.set(news.id, entry);
    } else {
      this.runningById.delete(news.id);
      this.askedAbout.delete(news.id);
      this.setEnded([entry, ...this.endedList].slice(0, mostEnded));
    }
    this.changed();
  };

  /** What a call wants, as soon as it is known. */
  wants(callId: string, args: JsonObject): void {
    this.amend(callId, { args });
  }

  /** The person is asked about it. */
  asked(callId: string): void {
    this.askedAbout.add(callId);
  }

  /** What a running call is about to give. */
  gave(callId: string, given: Given): void {
    this.amend(callId, { given });
  }

  /** Forgets the calls that have ended. */
  clear(): void {
    this.setEnded([]);
    this.changed();
  }

  running(): Entry[] {
    return [...this.runningById.values()].reverse();
  }

  ended(): Entry[] {
    return this.endedList;
  }

  private amend(callId: string, more: Partial<Entry>): void {
    const entry = this.runningById.get(callId);
    if (entry) this.runningById.set(callId, { ...entry, ...more });
  }

  private setEnded(entries: Entry[]): void {
    this.endedList = entries;
    try {
      this.kept?.setItem(key, JSON.stringify(entries.map(bare)));
    } catch {
      // the storage is full: this page still has them
    }
  }
}

/** What is kept of a call: neither what it asked for nor a picture. */
function bare({ args: _, given, ...entry }: Entry): Entry {
  return { ...entry, ...(given && { given: { words: given.words } }) };
}

function read(text: string | null): Entry[] {
  try {
    const list: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(list) ? list.filter(isEntry).slice(0, mostEnded) : [];
  } catch {
    return [];
  }
}

function isEntry(value: unknown): value is Entry {
  const from = value as Partial<Entry> | null;
  return (
    typeof from === "object" &&
    from !== null &&
    [from.id, from.tool, from.caller?.principal, from.caller?.agent].every(
      (each) => typeof each === "string",
    ) &&
    ["ok", "failed", "cancelled"].includes(from.phase ?? "") &&
    [from.at, from.startedAt].every((each) => typeof each === "number") &&
    [from.code, from.message].every((each) => each === undefined || typeof each === "string") &&
    (from.given === undefined || typeof from.given?.words === "string")
  );
}
