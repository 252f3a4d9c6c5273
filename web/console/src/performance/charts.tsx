import { count, duration } from "@crab/web-shared/words";

import { Chart } from "../chart";
import { Loaded, usePoll } from "../loaded";
import { api } from "../store";
import type { SeriesAnswer } from "./shapes";
import { t } from "./texts";

const EVERY_MS = 15_000;
const NAMES = "calls,errors,p99_us";

type Values = readonly (number | null)[];
const last = (values: Values): number => values.filter((one) => one !== null).pop() ?? 0;
const highest = (values: Values): number => Math.max(0, ...values.map((value) => value ?? 0));

/** Calls, failures and the slow end, minute by minute. */
export function Charts({ window }: { readonly window: string }) {
  const path = `/v1/admin/series?${new URLSearchParams({ names: NAMES, window }).toString()}`;
  const poll = usePoll(() => api.get<SeriesAnswer>(path), EVERY_MS, [path]);
  return (
    <Loaded poll={poll} size="card">
      {({ series }) => {
        const chart = (name: string, title: string, words: (n: number) => string) => {
          const values = series[name] ?? [];
          const most = t("most", { value: words(highest(values)) });
          return (
            <Chart
              name={title}
              values={values}
              latest={words(last(values))}
              most={most}
              tone={name === "errors" ? "bad" : "plain"}
            />
          );
        };
        return (
          <div class="charts">
            {chart("calls", t("calls"), count)}
            {chart("errors", t("errors"), count)}
            {chart("p99_us", t("p99"), duration)}
          </div>
        );
      }}
    </Loaded>
  );
}
