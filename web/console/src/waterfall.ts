export interface Bar {
  readonly stage: string;
  /** From the stage before to this one, in microseconds from the start of the call. */
  readonly from: number;
  readonly to: number;
  readonly by: "gateway" | "person" | "tool";
}

// What a stage waited for; all others are the gateway's own work.
const WAITS: Record<string, Bar["by"]> = {
  approved: "person",
  answered: "tool",
};

/** Who had the time until a stage was reached. */
export const byOf = (stage: string): Bar["by"] => WAITS[stage] ?? "gateway";

/** A call's stages in the order in which they were reached; what the gateway did after the last of
 * them is a bar, too, so that all of them are as long as the call. */
export function bars(timeline: Readonly<Record<string, number>>, wholeUs = 0): Bar[] {
  const reached = Object.entries(timeline)
    .filter(([, at]) => Number.isFinite(at) && at >= 0)
    .map(([name, at]) => [name.replace(/_us$/, ""), at] as const)
    .sort(([, a], [, b]) => a - b);
  const last = reached[reached.length - 1];
  if (last && wholeUs > last[1]) reached.push(["ended", wholeUs]);
  return reached.map(([stage, to], index) => ({
    stage,
    from: reached[index - 1]?.[1] ?? 0,
    to,
    by: byOf(stage),
  }));
}
