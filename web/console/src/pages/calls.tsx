import { useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";

import { filtered, parseFilter } from "../call-filter";
import { EndedRow, RunningRow } from "../calls/rows";
import { t } from "../calls/texts";
import { FilterBar } from "../filter-bar";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { place } from "../place";
import { api, type CallList } from "../store";
import { t as shell } from "../strings/shell";

const CALLS_EVERY_MS = 1_000;
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

function Ended({ calls }: { readonly calls: CallList }) {
  const rows = filtered(calls.recent, parseFilter(place.value.get("filter") ?? ""));
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
      <p class="quiet">{t("shown", { shown: shown.length, all: calls.recent.length })}</p>
      {rows.length === 0 && <p>{t("no.hit")}</p>}
      <table>
        <tbody>
          {shown.map((call) => (
            <EndedRow key={call.call_id} call={call} open={open === call.call_id} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

export default function Calls() {
  const poll = usePoll(() => api.get<CallList>("/v1/admin/calls?limit=1000"), CALLS_EVERY_MS);
  const [paused, setPaused] = useState(false);
  const kept = useRef<CallList>();
  return (
    <>
      <PageTitle name={shell("page.calls")}>
        <Button
          small
          pressed={paused}
          icon={paused ? "play" : "pause"}
          onPress={() => setPaused(!paused)}
        >
          {t(paused ? "live.go" : "live.pause")}
        </Button>
      </PageTitle>
      <FilterBar label={t("filter")} hint="tool:disk* status:error,timeout min:500ms" />
      <Loaded poll={poll}>
        {(calls) => {
          if (!paused) kept.current = calls;
          const shown = kept.current ?? calls;
          return (
            <div class="stack">
              <Running calls={shown} />
              <Ended calls={shown} />
            </div>
          );
        }}
      </Loaded>
    </>
  );
}
