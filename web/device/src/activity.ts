import type { CallNews } from "@crab/device";

import type { Given } from "./tools/page-tool.js";

/** A call as the page shows it. */
export interface Entry extends CallNews {
  startedAt: number;
  /** What left the device with it. */
  given?: Given;
}

const mostEnded = 30;

/** The calls that run and the last ones that ended, newest first. */
export class Activity {
  private readonly runningById = new Map<string, Entry>();
  private endedList: Entry[] = [];

  constructor(private readonly changed: () => void) {}

  /** Records a step of a call. */
  readonly onCall = (news: CallNews): void => {
    const before = this.runningById.get(news.id);
    const entry: Entry = {
      ...news,
      startedAt: before?.startedAt ?? news.at,
      ...(before?.given && { given: before.given }),
    };
    if (news.phase === "waiting" || news.phase === "running") {
      this.runningById.set(news.id, entry);
    } else {
      this.runningById.delete(news.id);
      this.endedList = [entry, ...this.endedList].slice(0, mostEnded);
    }
    this.changed();
  };

  /** What a running call is about to give. */
  gave(callId: string, given: Given): void {
    const entry = this.runningById.get(callId);
    if (entry) this.runningById.set(callId, { ...entry, given });
  }

  running(): Entry[] {
    return [...this.runningById.values()].reverse();
  }

  ended(): Entry[] {
    return this.endedList;
  }
}
