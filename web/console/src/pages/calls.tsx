import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import type { ApiError } from "../api";
import { filtered, parseFilter } from "../call-filter";
import { FilterBar } from "../filter-bar";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api } from "../store";
import { t } from "../strings/shell";
import "./calls.css";
import type { CallList, CallRecord, RunningCall } from "../store";
import { clock, count, duration, shortName, span } from "@crab/web-shared/words";
import { CallDetail } from "./call-detail";

const CALLS_EVERY_MS = 1_000;
const MOST_ROWS = 200;

/** A call that runs, and the way to end it. */
function RunningRow({ call }: { readonly call: RunningCall }) {
  const [said, say] = useState("");
  const cancel = () => {
    say("cancelling");
    api.post(`/v1/admin/calls/${encodeURIComponent(call.call_id)}/cancel`, {}).catch((error) => {
      say((error as ApiError).message);
    });
  };
  return (
    <tr>
      <td>
        <SafeText text={call.tool} most={80} />
      </td>
      <td class="quiet wide">
        <SafeText text={call.principal} most={60} />
      </td>
      <td>{said ? <SafeText text={said} most={80} /> : call.stage}</td>
      <td class="number">{span(call.elapsed_ms / 1000)}</td>
      <td class="number">
        <Button small off={said === "cancelling"} onPress={cancel}>
          Cancel
        </Button>
      </td>
    </tr>
  );
}

function EndedRow({ call, open }: { readonly call: CallRecord; readonly open: boolean }) {
  const ok = call.status === "ok";
  return (
    <>
      <tr>
        <td class="quiet time">{clock(call.time)}</td>
        <td>
          <button
            type="button"
            class="more"
            aria-expanded={open}
            onClick={() => go({ call: open ? "" : call.call_id })}
          >
            <SafeText text={shortName(call.tool)} />
          </button>
        </td>
        <td class="quiet wide">
          <SafeText text={call.agent || call.principal} most={60} />
        </td>
        <td>
          <Pill tone={ok ? "good" : "bad"}>
            {ok ? "ok" : <SafeText text={call.code || call.status} most={24} />}
          </Pill>
        </td>
        <td class="number">{call.duration_us === undefined ? "" : duration(call.duration_us)}</td>
      </tr>
      {open && (
        <tr>
          <td colSpan={5}>
            <CallDetail call={call} />
          </td>
        </tr>
      )}
    </>
  );
}

function Lists({ calls }: { readonly calls: CallList }) {
  const rows = filtered(calls.recent, parseFilter(place.value.get("filter") ?? ""));
  const open = place.value.get("call");
  const shown = rows.slice(0, MOST_ROWS);
  return (
    <>
      {calls.running.length > 0 && (
        <Card title={`Running ${count(calls.running.length)}`}>
          <table>
            <tbody>
              {[...calls.running]
                .sort((a, b) => b.elapsed_ms - a.elapsed_ms)
                .slice(0, MOST_ROWS)
                .map((call) => (
                  <RunningRow key={call.call_id} call={call} />
                ))}
            </tbody>
          </table>
        </Card>
      )}
      <Card title={"Ended lately"}>
        <p class="quiet">
          showing {count(shown.length)} of the latest {count(calls.recent.length)}
        </p>
        {rows.length === 0 && calls.recent.length > 0 && (
          <p>No call fits the filter: drop one of its chips.</p>
        )}
        <table>
          <tbody>
            {shown.map((call) => (
              <EndedRow key={call.call_id} call={call} open={open === call.call_id} />
            ))}
          </tbody>
        </table>
      </Card>
    </>
  );
}

export default function Calls() {
  const poll = usePoll(() => api.get<CallList>("/v1/admin/calls"), CALLS_EVERY_MS);
  return (
    <>
      <PageTitle name={t("page.calls")} />
      <FilterBar label="Filter calls" hint="tool:disk* status:error,timeout min:500ms" />
      <Loaded poll={poll}>
        {(calls) => (
          <div class="stack">
            <Lists calls={calls} />
          </div>
        )}
      </Loaded>
    </>
  );
}
