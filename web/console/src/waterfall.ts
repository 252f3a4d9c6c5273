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

/** A call's stages in the order in which they were reached. */
export function bars(timeline: Readonly<Record<string, number>>): Bar[] {
  const reached = Object.entries(timeline)
    .filter(([, at]) => Number.isFinite(at) && at >= 0)
    .map(([name, at]) => [name.replace(/_us$/, ""), at] as const)
    .sort(([, a], [, b]) => a - b);
  return reached.map(([stage, to], index) => ({
    stage,
    from: reached[index - 1]?.[1] ?? 0,
    to,
    by: byOf(stage),
  }));
}
