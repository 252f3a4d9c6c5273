import { useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";

import { filtered, parseFilter, timeless } from "../call-filter";
import { EndedRow, RunningRow } from "../calls/rows";
import { shownWords } from "../calls/shown";
import { t } from "../calls/texts";
import { FilterBar } from "../filter-bar";
import { Link } from "../link";
import { useKey } from "../keys";
import { useFiltered } from "../live/filtered";
import type { Live } from "../live/state";
import { hub, isLive, useNews } from "../live/use-live";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { place } from "../place";
import { api, type CallList } from "../store";
import { t as shell } from "../strings/shell";

const EVERY_MS = 1_000;
const LIVE_MS = 30_000;
const MOST_ROWS = 200;

function Running({ calls }: { readonly calls: CallList }) {
  if (calls.running.length === 0) return null;
  const oldest = [...calls.running].sort((a, b) => b.elapsed_ms - a.elapsed_ms);
  return (
    <Card title={t("running", { n: calls.running.length })}>
      <table>
        <tbody>
          {oldest.slice(0, MOST_ROWS).map((call) => (
            <RunningRow key={call.call_id} call={call} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Ended({ calls, live }: { readonly calls: CallList; readonly live: Live }) {
  const filter = place.value.get("filter") ?? "";
  const rows = filtered(calls.recent, parseFilter(filter));
  const open = place.value.get("call");
  const shown = rows.slice(0, MOST_ROWS);
  if (calls.recent.length === 0)
    return (
      <EmptyState title={t("none")} action={<Link page="tools">{t("none.try")}</Link>}>
        {t("none.how")}
      </EmptyState>
    );
  return (
    <Card title={t("ended")}>
      <p class="quiet">
        {shownWords(isLive() ? live : undefined, shown.length, calls.recent.length)}
      </p>
      {rows.length === 0 && <p>{t("no.hit")}</p>}
      <table>
        <tbody>
          {shown.map((call) => (
            <EndedRow key={call.call_id} call={call} open={open === call.call_id} />
          ))}
        </tbody>
      </table>
      <p class="row">
        <Link page="audit" to={{ filter }}>
          {t("older")}
        </Link>
      </p>
    </Card>
  );
}

/** What the stream tells, and before it what was read. */
function merged(calls: CallList, live: Live): CallList {
  if (!isLive()) return calls;
  const { rows } = live;
  const { running } = hub.live.value;
  const seen = new Set<string>();
  const recent = [...rows, ...calls.recent].filter(
    ({ call_id }) => !seen.has(call_id) && seen.add(call_id),
  );
  return { running: running.oldest, recent };
}

export default function Calls() {
  const poll = usePoll(
    () => api.get<CallList>("/v1/admin/calls?limit=1000"),
    isLive() ? LIVE_MS : EVERY_MS,
  );
  useNews(poll, () => 0);
  const live = useFiltered(timeless(place.value.get("filter") ?? "")) ?? hub.live.value;
  const [paused, setPaused] = useState(false);
  const kept = useRef<CallList>();
  const turn = () => setPaused(!paused);
  useKey(".", turn);
  return (
    <>
      <PageTitle name={shell("page.calls")}>
        <Button small pressed={paused} icon={paused ? "play" : "pause"} onPress={turn}>
          {t(paused ? "live.go" : "live.pause")}
        </Button>
      </PageTitle>
      <FilterBar label={t("filter")} hint="tool:disk* status:error,timeout from:22:00" />
      <Loaded poll={poll}>
        {(calls) => {
          if (!paused) kept.current = merged(calls, live);
          const shown = kept.current ?? calls;
          return (
            <div class="stack">
              <Running calls={shown} />
              <Ended calls={shown} live={live} />
            </div>
          );
        }}
      </Loaded>
    </>
  );
}
