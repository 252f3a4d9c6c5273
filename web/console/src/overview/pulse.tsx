import { count, duration } from "@crab/web-shared/words";

import { Chart } from "../chart";
import { hub } from "../live/use-live";
import { t } from "./texts";

const percent = (part: number): string => `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
const rounded = (n: number): string => count(n < 10 ? Math.round(n * 10) / 10 : Math.round(n));

/** The last minute as it comes: how many calls, how many failed, how slow the slow ones are. */
export function Pulse() {
  const { rates, rate } = hub.live.value;
  if (!rate || rates.length < 2) return null;
  const line = (
    name: string,
    read: (one: (typeof rates)[number]) => number,
    words: (n: number) => string,
  ) => {
    const values = rates.map(read);
    return (
      <Chart
        name={name}
        values={values}
        latest={words(read(rate))}
        most={`≤ ${words(Math.max(...values))}`}
        tone={name === t("failed") ? "bad" : "plain"}
      />
    );
  };
  return (
    <div class="charts">
      {line(t("rate"), ({ perSecond }) => perSecond, rounded)}
      {line(t("failed"), ({ failed }) => failed, percent)}
      {line(t("p99"), ({ p99_us }) => p99_us, duration)}
    </div>
  );
}
