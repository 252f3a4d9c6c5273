import { useEffect, useMemo, useState } from "preact/hooks";

import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";

import type { ApiError } from "../api";
import { filtered, parseFilter, without } from "../call-filter";
import { go, place } from "../place";
import { Poll } from "../poll";
import { api, who } from "../store";
import type { CallList, CallRecord, RunningCall } from "../store";
import { clock, count, duration, shortName, span } from "../words";
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
        <button type="button" class="button small" disabled={said === "cancelling"} onClick={cancel}>
          Cancel
        </button>
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
          <span class={ok ? "pill good" : "pill bad"}>
            {ok ? "ok" : <SafeText text={call.code || call.status} most={24} />}
          </span>
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

/** The filter as text, and each of its terms as a chip that a press drops. */
function FilterBar() {
  const filter = place.value.get("filter") ?? "";
  const terms = parseFilter(filter);
  return (
    <div class="filter">
      <label>
        <span class="unseen-caption">Filter calls</span>
        <input
          type="search"
          value={filter}
          maxLength={1_000}
          placeholder="tool:disk* status:error,timeout min:500ms"
          onInput={(event) => go({ filter: event.currentTarget.value }, true)}
        />
      </label>
      {terms.map((term, index) => (
        <button
          key={index}
          type="button"
          class="chip"
          aria-label={`Drop ${visible(term.written)}`}
          onClick={() => go({ filter: without(terms, term) })}
        >
          <SafeText text={shortName(term.written)} /> ×
        </button>
      ))}
    </div>
  );
}

function Lists({ calls }: { readonly calls: CallList }) {
  const rows = filtered(calls.recent, parseFilter(place.value.get("filter") ?? ""));
  const open = place.value.get("call");
  const shown = rows.slice(0, MOST_ROWS);
  return (
    <>
      {calls.running.length > 0 && (
        <section class="card" aria-labelledby="running">
          <h2 id="running">Running {count(calls.running.length)}</h2>
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
        </section>
      )}
      <section class="card" aria-labelledby="ended">
        <h2 id="ended">Ended lately</h2>
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
      </section>
    </>
  );
}

export function Calls() {
  const poll = useMemo(
    () => new Poll<CallList>(() => api.get<CallList>("/v1/admin/calls"), CALLS_EVERY_MS),
    [],
  );
  const signedIn = who.value.state === "in";
  useEffect(() => (signedIn ? poll.start() : undefined), [poll, signedIn]);
  const { data, error } = poll.state.value;
  return (
    <>
      <h1>Calls</h1>
      <FilterBar />
      {error && error.status !== 401 && (
        <p class="notice bad" role="status">
          <SafeText text={error.message} /> <code>{error.code}</code>
        </p>
      )}
      {!data && !error && <div class="skeleton" aria-busy="true" />}
      {data && <div class={error ? "stack old" : "stack"}>
          <Lists calls={data} />
        </div>}
    </>
  );
}
