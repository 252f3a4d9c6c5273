import type { CallNews } from "@crab/device";

/** A call as the page shows it. */
export interface Entry extends CallNews {
  startedAt: number;
}

const mostEnded = 30;

/** The calls that run and the last ones that ended, newest first. */
export class Activity {
  private readonly runningById = new Map<string, Entry>();
  private endedList: Entry[] = [];

  constructor(private readonly changed: () => void) {}

  /** Takes what a device tells of a call. */
  readonly onCall = (news: CallNews): void => {
    const startedAt = this.runningById.get(news.id)?.startedAt ?? news.at;
    const entry: Entry = { ...news, startedAt };
    if (news.phase === "waiting" || news.phase === "running") {
      this.runningById.set(news.id, entry);
    } else {
      this.runningById.delete(news.id);
      this.endedList = [entry, ...this.endedList].slice(0, mostEnded);
    }
    this.changed();
  };

  running(): Entry[] {
    return [...this.runningById.values()].reverse();
  }

  ended(): Entry[] {
    return this.endedList;
  }
}
