import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Choice } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { count, duration } from "@crab/web-shared/words";

import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { Charts } from "../performance/charts";
import {
  type Sort,
  sorted,
  SORTS,
  splitOf,
  type Stats,
  type StatsRow,
  totalOf,
} from "../performance/shapes";
import { t } from "../performance/texts";
import { go, place } from "../place";
import { api } from "../store";
import { t as shell } from "../strings/shell";
import "./performance.css";

const EVERY_MS = 5_000;
const WINDOWS = ["15m", "1h", "5m"] as const;
const BY = ["tool", "principal", "source"] as const;

function chosen<One extends string>(all: readonly One[], name: string): One {
  return all.find((one) => one === place.value.get(name)) ?? (all[0] as One);
}

/** Where the time of a row's calls went, as one bar; its numbers are its name. */
function SplitBar({ row }: { readonly row: StatsRow }) {
  const split = splitOf(row);
  const parts = (["gateway", "person", "tool"] as const).map((by) => ({ by, part: split[by] }));
  const words = parts.map(({ by, part }) => `${t(`split.${by}`)} ${Math.round(part * 100)} %`);
  let from = 0;
  return (
    <svg
      class="split"
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      role="img"
      aria-label={words.join(", ")}
    >
      {parts.map(({ by, part }) => {
        const x = from;
        from += part * 100;
        return <rect key={by} class={`by-${by}`} x={x} width={part * 100} height="10" />;
      })}
    </svg>
  );
}

function Row({ row, by }: { readonly row: StatsRow; readonly by: (typeof BY)[number] }) {
  return (
    <tr>
      <th scope="row">
        <Link page="calls" to={{ filter: `${by}:"${row.key.replace(/"/g, "")}"` }}>
          <SafeText text={row.key} most={80} />
        </Link>
      </th>
      <td class="number">{count(row.calls)}</td>
      <td class="number">{count(row.errors)}</td>
      <td class="number wide">{duration(row.p50_us)}</td>
      <td class="number wide">{duration(row.p95_us)}</td>
      <td class="number">{duration(row.p99_us)}</td>
      <td class="number wide">{duration(totalOf(row))}</td>
      <td class="wide">
        <SplitBar row={row} />
      </td>
      <td class="number wide">
        {row.slowest && (
          <Link page="audit" to={{ call: row.slowest }}>
            {row.slowest_us === undefined ? t("slowest") : duration(row.slowest_us)}
          </Link>
        )}
      </td>
    </tr>
  );
}

const HEADS: readonly (readonly [Sort, () => string, boolean])[] = [
  ["calls", () => t("calls.column"), false],
  ["errors", () => t("errors.column"), false],
  ["p50_us", () => t("p50"), true],
  ["p95_us", () => t("p95"), true],
  ["p99_us", () => t("p99"), false],
  ["total", () => t("total"), true],
];

function Table({ stats, by }: { readonly stats: Stats; readonly by: (typeof BY)[number] }) {
  const sort = chosen(SORTS, "sort");
  return (
    <Card>
      <div class="stats" tabIndex={0} role="region" aria-label={shell("page.performance")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t(`by.${by}`)}</th>
              {HEADS.map(([name, words, wide]) => (
                <th
                  key={name}
                  scope="col"
                  class={wide ? "number wide" : "number"}
                  aria-sort={sort === name ? "descending" : undefined}
                >
                  <Link to={{ sort: name }} current={sort === name}>
                    {words()}
                  </Link>
                </th>
              ))}
              <th scope="col" class="wide">
                {t("split")}
              </th>
              <th scope="col" class="number wide">
                {t("slowest")}
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted(stats.rows, sort).map((row) => (
              <Row key={row.key} row={row} by={by} />
            ))}
          </tbody>
        </table>
      </div>
      {(stats.left_out ?? 0) > 0 && <p class="quiet">{t("left", { n: stats.left_out ?? 0 })}</p>}
    </Card>
  );
}

/** What is slow or failing, of the last hour at most. */
export default function Performance() {
  const window = chosen(WINDOWS, "window");
  const by = chosen(BY, "by");
  const path = `/v1/admin/stats?${new URLSearchParams({ window, by }).toString()}`;
  const poll = usePoll(() => api.get<Stats>(path), EVERY_MS, [path]);
  return (
    <>
      <PageTitle name={shell("page.performance")} />
      <div class="stats-filter">
        <Choice
          label={t("window")}
          value={window}
          options={WINDOWS.map((value) => ({ value, label: value }))}
          onValue={(value) => go({ window: value })}
        />
        <Choice
          label={t("by")}
          value={by}
          options={BY.map((value) => ({ value, label: t(`by.${value}`) }))}
          onValue={(value) => go({ by: value })}
        />
      </div>
      <div class="stack">
        <Card>
          <Charts window={window} />
        </Card>
        <Loaded poll={poll}>
          {(stats) =>
            stats.rows.length === 0 ? (
              <EmptyState title={t("none")}>{t("none.why")}</EmptyState>
            ) : (
              <Table stats={stats} by={by} />
            )
          }
        </Loaded>
      </div>
    </>
  );
}
