import { useCallback, useEffect, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Choice, TextField } from "@crab/web-shared/field";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { distance } from "@crab/web-shared/words";

import "../devices/devices.css";
import { OneDevice } from "../devices/one-device";
import { PairDialog } from "../devices/pair-dialog";
import { Revoke } from "../devices/revoke";
import {
  DEVICE_STATES,
  type DeviceList,
  type DeviceRow,
  deviceRows,
  firstExpiry,
  liveTokens,
  slugOf,
} from "../devices/shapes";
import { t } from "../devices/texts";
import { Link } from "../link";
import { useNews } from "../live/use-live";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api, mayWrite } from "../store";
import { t as shell } from "../strings/shell";

const EVERY_MS = 2_000;
const SOON_DAYS = 14;
const DAY_MS = 86_400_000;

const member = (name: string) => place.value.get(name) ?? "";

/** What the device says of itself and its network, in words. */
function presence({ battery, charging, metered, foreground }: DeviceRow): string {
  const percent = battery === undefined ? undefined : Math.round(battery * 100);
  const parts = [
    percent !== undefined && t(charging ? "battery.charging" : "battery", { percent }),
    metered !== undefined && t(metered ? "metered" : "wifi"),
    foreground && t("foreground"),
  ];
  return parts.filter(Boolean).join(", ");
}

const lastSeen = ({ last_seen_at: at }: DeviceRow): string =>
  at ? t("gone", { when: distance(at) }) : t("last.never");

function Row({ row }: { readonly row: DeviceRow }) {
  const slug = slugOf(row);
  const waiting = row.waiting_tools?.length ?? 0;
  const ends = firstExpiry(row);
  const soon = ends !== undefined && Date.parse(ends) - Date.now() < SOON_DAYS * DAY_MS;
  return (
    <tr>
      <td>
        <span class={row.connected ? "device-dot on" : "device-dot"} aria-hidden="true" />
        <span class="device-name">
          <Link to={{ device: slug }}>
            <SafeText text={row.name || slug} most={80} />
          </Link>
        </span>
        <div class="quiet">{row.connected ? presence(row) || t("connected") : lastSeen(row)}</div>
        {waiting > 0 && (
          <div class="row">
            <Pill tone="warn">{t("waiting.count", { n: waiting })}</Pill>
            <Link to={{ device: slug }}>{t("waiting.review")}</Link>
          </div>
        )}
      </td>
      <td class="number">{t("tools", { n: row.tools })}</td>
      <td class="wide">
        {soon && ends && <Pill tone="warn">{t("expires", { when: distance(ends) })}</Pill>}
      </td>
    </tr>
  );
}

function CallerRow({ row, again }: { readonly row: DeviceRow; readonly again: () => void }) {
  const ends = firstExpiry(row);
  const n = liveTokens(row).length;
  return (
    <tr>
      <td>
        <SafeText text={row.principal} most={80} />
        <div class="quiet">{ends && t("expires", { when: distance(ends) })}</div>
      </td>
      <td class="number">
        {n === 0 && <Pill>{t("revoked")}</Pill>}
        {n > 0 && (
          <Revoke
            small
            what={{ device: row.principal }}
            name={row.principal}
            ends={n}
            again={again}
          />
        )}
      </td>
    </tr>
  );
}

function Filter() {
  const states = DEVICE_STATES.map((value) => ({ value, label: t(`state.${value}`) }));
  return (
    <div class="device-filter" role="search">
      <TextField
        type="search"
        label={t("search")}
        value={member("q")}
        most={200}
        onValue={(q) => go({ q }, true)}
      />
      <Choice
        label={t("state")}
        value={member("state")}
        options={[{ value: "", label: t("all") }, ...states]}
        onValue={(state) => go({ state }, true)}
      />
    </div>
  );
}

function Lists(props: {
  readonly list: DeviceList;
  readonly again: () => void;
  readonly onPair: () => void;
}) {
  const { list, again } = props;
  const rows = deviceRows(list.devices, member("q"), member("state"));
  return (
    <div class="stack">
      {list.devices.length === 0 && (
        <EmptyState
          title={t("none")}
          action={
            <Button kind="primary" icon="plus" off={!mayWrite.value} onPress={props.onPair}>
              {t("pair")}
            </Button>
          }
        >
          {t("none.why")}
        </EmptyState>
      )}
      {list.devices.length > 0 && rows.length === 0 && (
        <EmptyState title={t("no.hit")}>{t("no.hit.drop")}</EmptyState>
      )}
      {rows.length > 0 && (
        <Card>
          <table>
            <caption class="unseen-caption">{t("count", { n: rows.length })}</caption>
            <tbody>
              {rows.map((row) => (
                <Row key={row.principal} row={row} />
              ))}
            </tbody>
          </table>
        </Card>
      )}
      <Card title={t("tokens")}>
        {list.callers.length === 0 && <p class="quiet">{t("tokens.none")}</p>}
        <table>
          <caption class="unseen-caption">{t("tokens")}</caption>
          <tbody>
            {list.callers.map((row) => (
              <CallerRow key={row.principal} row={row} again={again} />
            ))}
          </tbody>
        </table>
      </Card>
    </div>
  );
}

function DeviceListPage() {
  const poll = usePoll(() => api.get<DeviceList>("/v1/admin/devices"), EVERY_MS);
  useNews(poll, ({ devices }) => devices);
  const again = useCallback(() => void poll.again(), [poll]);
  const [before, setBefore] = useState<DeviceList>();
  const list = poll.state.value.data;
  const pair = () => setBefore(list);
  const wanted = member("pair") !== "" && list !== undefined;
  useEffect(() => {
    if (!wanted) return;
    go({ pair: "" }, true);
    if (mayWrite.value) pair();
  }, [wanted]);
  return (
    <>
      <PageTitle name={shell("page.devices")}>
        <Button icon="plus" off={!list || !mayWrite.value} onPress={pair}>
          {t("pair")}
        </Button>
      </PageTitle>
      <Filter />
      <Loaded poll={poll}>{(found) => <Lists list={found} again={again} onPair={pair} />}</Loaded>
      {before && <PairDialog before={before} onMade={again} onClose={() => setBefore(undefined)} />}
    </>
  );
}

export default function Devices() {
  const device = member("device");
  return device === "" ? <DeviceListPage /> : <OneDevice key={device} slug={device} />;
}
