import { Card } from "@crab/web-shared/card";
import { SafeText } from "@crab/web-shared/safe-text";
import { clock, count, duration, span } from "@crab/web-shared/words";

import type { DeviceList } from "../devices/shapes";
import type { Health } from "../health/shapes";
import { Link } from "../link";
import { hub, isLive, useNews } from "../live/use-live";
import { Loaded, usePoll } from "../loaded";
import { Outcome } from "../outcome";
import { needs } from "../overview/needs";
import { Pulse } from "../overview/pulse";
import { t } from "../overview/texts";
import { PageTitle, waiting } from "../page-title";
import { api } from "../store";
import type { CallList, CallRecord, GatewayStatus, RunningCall } from "../store";
import { t as shell } from "../strings/shell";
import "./overview.css";

const EVERY_MS = 2_000;
const LIVE_MS = 15_000;
const HEALTH_MS = 60_000; // certificates and stores
const ROWS = 12;

interface Now {
  readonly status: GatewayStatus;
  readonly calls: CallList;
  readonly devices?: DeviceList;
}

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        <SafeText text={value} most={60} />
      </dd>
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
      <td>
        <SafeText text={call.stage} most={40} />
      </td>
      <td class="number">{span(call.elapsed_ms / 1_000)}</td>
    </tr>
  );
}

function Recent({ call }: { readonly call: CallRecord }) {
  const ok = call.status === "ok";
  return (
    <tr>
      <td>
        <Link page="calls" to={{ call: call.call_id }}>
          <SafeText text={call.tool} most={80} />
        </Link>
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
        <Outcome call={call} />
      </td>
      <td class="number">
        {call.duration_us === undefined ? clock(call.time) : duration(call.duration_us)}
      </td>
    </tr>
  );
}

/** What the stream has told, in place of what was read before. */
function lately({ calls }: Now): CallList {
  if (!isLive()) return calls;
  const { rows, running } = hub.live.value;
  const recent = [...rows, ...calls.recent];
  const seen = new Set<string>();
  const once = recent.filter(({ call_id }) => !seen.has(call_id) && seen.add(call_id));
  return { running: running.count > 0 ? running.oldest : [], recent: once };
}

function Calls({ calls, running }: { readonly calls: CallList; readonly running: number }) {
  return (
    <div class="columns">
      <Card title={t("running", { n: running })}>
        {calls.running.length === 0 && <p class="quiet">{t("none.running")}</p>}
        <table>
          <caption class="unseen-caption">{t("running", { n: running })}</caption>
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
      <Card title={t("ended")}>
        {calls.recent.length === 0 && (
          <div class="stack">
            <p class="quiet">{t("first")}</p>
            <p class="row">
              <Link page="devices">{t("pair")}</Link>
              <Link page="tools">{t("first.try")}</Link>
              <Link page="chat">{t("ask.agent")}</Link>
            </p>
          </div>
        )}
        <table>
          <caption class="unseen-caption">{t("ended")}</caption>
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
      <Figure name={t("devices")} value={count(status.devices)} />
      <Figure name={t("tools")} value={count(status.tools)} />
      <Figure name={t("calls")} value={count(status.running_calls)} />
      <Figure name={t("storage.name")} value={status.storage} />
      <Figure name={t("uptime")} value={span(status.uptime_seconds)} />
      <Figure name={t("version")} value={status.version} />
    </dl>
  );
}

interface NeedsProps {
  readonly now: Now;
  readonly status: GatewayStatus;
  readonly health: Health | undefined;
}

function Needs({ now, status, health }: NeedsProps) {
  const found = needs({ status, devices: now.devices, health, approvals: waiting.value });
  if (found.length === 0) return null;
  return (
    <section aria-label={t("needs")} class="needs">
      <h2>{t("needs")}</h2>
      <ul class="plain">
        {found.map(({ text, tone, page, to = {} }) => (
          <li key={text} class={`notice ${tone}`}>
            <Link page={page} to={to}>
              {text}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

const read = async (): Promise<Now> => {
  const [status, calls, devices] = await Promise.all([
    api.get<GatewayStatus>("/v1/admin/status"),
    api.get<CallList>("/v1/admin/calls"),
    api.get<DeviceList>("/v1/admin/devices"),
  ]);
  return { status, calls, devices };
};

export function Overview() {
  const poll = usePoll<Now>(read, isLive() ? LIVE_MS : EVERY_MS);
  const health = usePoll(() => api.get<Health>("/v1/admin/health"), HEALTH_MS);
  useNews(poll, ({ devices }) => devices);
  return (
    <>
      <PageTitle name={shell("page.overview")}>
        <Link page="performance">{t("performance")}</Link>
      </PageTitle>
      <Loaded poll={poll}>
        {(now) => {
          const status = (isLive() && hub.live.value.status) || now.status;
          const calls = lately(now);
          const running = isLive() ? hub.live.value.running.count : calls.running.length;
          return (
            <div class="stack">
              <Needs now={now} status={status} health={health.state.value.data} />
              <Figures status={status} />
              <Pulse />
              <Calls calls={calls} running={running} />
            </div>
          );
        }}
      </Loaded>
    </>
  );
}
