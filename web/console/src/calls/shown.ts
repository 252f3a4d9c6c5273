import type { Live } from "../live/state";
import { t } from "./texts";

/**
 * How much of all that ended is shown: a sample is never silent. Of a stream the rows and the calls
 * a second, which are the gateway's metrics; before there is one, so many rows of those that were
 * read.
 */
export function shownWords(live: Live | undefined, shown: number, all: number): string {
  const { rate, shown: rows = 0 } = live ?? {};
  if (rate === undefined) return t("shown", { shown, all });
  return t("shown.live", { shown: rows, rate: Math.round(rate.perSecond) });
}
