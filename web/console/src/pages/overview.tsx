import { Card } from "@crab/web-shared/card";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { api } from "../store";
import type { CallList, CallRecord, GatewayStatus, RunningCall } from "../store";
import { t } from "../strings/shell";
import { clock, count, duration, span } from "@crab/web-shared/words";
import "./overview.css";

const STATUS_EVERY_MS = 2_000;
const ROWS = 12;

interface Now {
  readonly status: GatewayStatus;
  readonly calls: CallList;
}

/** What is wrong with the gateway itself, worst first. */
export function needs(status: GatewayStatus): string[] {
  const found: string[] = [];
  if (status.storage !== "ok")
    found.push("The storage fails: calls that have to be recorded are refused.");
  if (status.audit.lost_records > 0)
    found.push(`${count(status.audit.lost_records)} audit records are lost.`);
  return found;
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Running({ call }: { readonly call: RunningCall }) {
  return (
    <tr>
      <td>
        <SafeText text={call.tool} most={80} />
      </td>
      <td class="quiet wide">
        <SafeText text={call.principal} most={60} />
      </td>
      <td>{call.stage}</td>
      <td class="number">{span(call.elapsed_ms / 1000)}</td>
    </tr>
  );
}

function Recent({ call }: { readonly call: CallRecord }) {
  const ok = call.status === "ok";
  return (
    <tr>
      <td>
        <SafeText text={call.tool} most={80} />
        {!ok && call.message && (
          <div class="quiet">
            <SafeText text={call.message} most={160} />
          </div>
        )}
      </td>
      <td class="quiet wide">
        <SafeText text={call.agent || call.principal} most={60} />
      </td>
      <td>
        <Pill tone={ok ? "good" : "bad"}>{ok ? "ok" : call.code || call.status}</Pill>
      </td>
      <td class="number">
        {call.duration_us === undefined ? clock(call.time) : duration(call.duration_us)}
      </td>
    </tr>
  );
}

function Calls({ calls }: { readonly calls: CallList }) {
  return (
    <div class="columns">
      <Card title={`Running ${count(calls.running.length)}`}>
        {calls.running.length === 0 && <p class="quiet">No call runs now.</p>}
        <table>
          <caption class="unseen-caption">Calls that run, oldest first</caption>
          <tbody>
            {[...calls.running]
              .sort((a, b) => b.elapsed_ms - a.elapsed_ms)
              .slice(0, ROWS)
              .map((call) => (
                <Running key={call.call_id} call={call} />
              ))}
          </tbody>
        </table>
      </Card>
      <Card title={"Ended lately"}>
        {calls.recent.length === 0 && (
          <p class="quiet">
            Nothing was called since the gateway started. <kbd>crab call</kbd> makes a first call.
          </p>
        )}
        <table>
          <caption class="unseen-caption">Calls that ended lately</caption>
          <tbody>
            {calls.recent.slice(0, ROWS).map((call) => (
              <Recent key={call.call_id} call={call} />
            ))}
          </tbody>
        </table>
      </Card>
    </div>
  );
}

function Figures({ status }: { readonly status: GatewayStatus }) {
  return (
    <dl class="figures">
      <Figure name="Devices" value={count(status.devices)} />
      <Figure name="Their tools" value={count(status.tools)} />
      <Figure name="Calls now" value={count(status.running_calls)} />
      <Figure name="Storage" value={status.storage} />
      <Figure name="Up for" value={span(status.uptime_seconds)} />
      <Figure name="Version" value={status.version} />
    </dl>
  );
}

export function Overview() {
  const poll = usePoll<Now>(async () => {
    const [status, calls] = await Promise.all([
      api.get<GatewayStatus>("/v1/admin/status"),
      api.get<CallList>("/v1/admin/calls"),
    ]);
    return { status, calls };
  }, STATUS_EVERY_MS);
  return (
    <>
      <PageTitle name={t("page.overview")} />
      <Loaded poll={poll}>
        {({ status, calls }) => (
          <>
            {needs(status).map((need) => (
              <p key={need} class="notice bad">
                {need}
              </p>
            ))}
            <Figures status={status} />
            <Calls calls={calls} />
          </>
        )}
      </Loaded>
    </>
  );
}
