import { useCallback, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { TextField } from "@crab/web-shared/field";
import { Dialog } from "@crab/web-shared/dialog";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";
import { distance, moment, shortName } from "@crab/web-shared/words";

import { segment } from "../api";
import { CallsOf } from "../calls/calls-of";
import { useDoing } from "../doing";
import { type Fact, Facts } from "../facts";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { api, mayWrite } from "../store";
import { tabOf, Tabs } from "@crab/web-shared/tabs";
import { PairDialog } from "./pair-dialog";
import { Revoke } from "./revoke";
import { type DeviceList, type DeviceRow, liveTokens, type Token } from "./shapes";
import { t } from "./texts";
import { type WaitingTool, WaitingTools } from "./waiting-tools";

const EVERY_MS = 3_000;
const TABS = ["tools", "calls", "tokens", "connection"] as const;

interface Rejected {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly at?: string;
}

interface Connection {
  readonly since?: string;
  readonly address?: string;
  readonly [name: string]: unknown;
}

/** A device as `GET A/devices/SLUG` tells it. */
interface WholeDevice extends Omit<DeviceRow, "tools" | "connections"> {
  readonly connections: readonly Connection[];
  readonly tools: readonly { readonly name: string; readonly qualified_name: string }[];
  readonly rejected: readonly Rejected[];
  readonly waiting: readonly WaitingTool[];
}

function Rename({ device, name, again }: { device: string; name: string; again: () => void }) {
  const [next, setNext] = useState<string>();
  const [busy, run] = useDoing(() => {
    setNext(undefined);
    again();
  });
  const save = () => {
    const path = `/v1/admin/devices/${segment(device)}`;
    void run(api.patch(path, { name: next }), t("rename.done", { name: next ?? "" }));
  };
  return (
    <>
      <Button off={!mayWrite.value} onPress={() => setNext(name)}>
        {t("rename")}
      </Button>
      {next !== undefined && (
        <Dialog title={t("rename")} onClose={() => setNext(undefined)}>
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault();
              if (next !== "") save();
            }}
          >
            <TextField label={t("name")} value={next} onValue={setNext} most={64} />
            <div class="row">
              <Button kind="primary" busy={busy} off={next === ""} onPress={save}>
                {t("save")}
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}

function Tools({ device, again }: { readonly device: WholeDevice; readonly again: () => void }) {
  const { tools, rejected, waiting } = device;
  return (
    <div class="stack">
      {waiting.length > 0 && (
        <Card title={t("waiting")}>
          <WaitingTools device={device.device ?? ""} tools={waiting} again={again} />
        </Card>
      )}
      <Card title={t("tools.offered")}>
        {tools.length === 0 && <p class="quiet">{t("tools.none")}</p>}
        <ul class="plain">
          {tools.map(({ name, qualified_name }) => (
            <li key={name}>
              <Link page="tools" to={{ tool: qualified_name }}>
                <SafeText text={shortName(name)} />
              </Link>
            </li>
          ))}
        </ul>
      </Card>
      {rejected.length > 0 && (
        <Card title={t("rejected")}>
          <ul class="plain">
            {rejected.map((tool) => (
              <li key={tool.name}>
                <Pill tone="bad">
                  <SafeText text={tool.code} most={40} />
                </Pill>{" "}
                <strong>
                  <SafeText text={tool.name} most={120} />
                </strong>{" "}
                <SafeText text={tool.message} />{" "}
                {tool.at && <span class="quiet">{moment(tool.at)}</span>}
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  );
}

function TokenRow({ token, again }: { readonly token: Token; readonly again: () => void }) {
  return (
    <tr>
      <td>
        <SafeText text={token.id} most={60} />
        <div class="quiet">{`${token.kind}: ${token.roles.join(", ")}`}</div>
      </td>
      <td class="quiet">{token.expires_at ? distance(token.expires_at) : ""}</td>
      <td class="number">
        {token.revoked && <Pill>{t("revoked")}</Pill>}
        {!token.revoked && (
          <Revoke small what={{ token_id: token.id }} name={token.id} ends={1} again={again} />
        )}
      </td>
    </tr>
  );
}

export function Tokens(props: { readonly tokens: readonly Token[]; readonly again: () => void }) {
  return (
    <Card>
      <table>
        <caption class="unseen-caption">{t("tab.tokens")}</caption>
        <tbody>
          {props.tokens.map((token) => (
            <TokenRow key={token.id} token={token} again={props.again} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

const text = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

function Connections({ device }: { readonly device: WholeDevice }) {
  if (device.connections.length === 0)
    return (
      <EmptyState title={t("state.offline")}>
        {device.last_seen_at && t("gone", { when: distance(device.last_seen_at) })}
      </EmptyState>
    );
  return (
    <div class="stack">
      {device.connections.map((connection, index) => {
        const { since, ...rest } = connection;
        const facts = Object.entries(rest).map(([name, value]): Fact => [name, text(value)]);
        return (
          <Card key={index} title={since ? t("since", { when: moment(since) }) : t("connected")}>
            <Facts facts={facts} />
          </Card>
        );
      })}
    </div>
  );
}

function Whole({ device, again }: { readonly device: WholeDevice; readonly again: () => void }) {
  const tab = tabOf(TABS);
  return (
    <>
      <Tabs label={t("tabs")} tabs={TABS.map((one) => ({ tab: one, name: t(`tab.${one}`) }))} />
      {tab === "tools" && <Tools device={device} again={again} />}
      {tab === "calls" && <CallsOf filter={`source:"${device.principal}"`} />}
      {tab === "tokens" && <Tokens tokens={device.tokens} again={again} />}
      {tab === "connection" && <Connections device={device} />}
    </>
  );
}

/** One device: its tools, calls, credentials and connections; renamed, paired again, revoked. */
export function OneDevice({ slug }: { readonly slug: string }) {
  const poll = usePoll(() => api.get<WholeDevice>(`/v1/admin/devices/${segment(slug)}`), EVERY_MS, [
    slug,
  ]);
  const again = useCallback(() => void poll.again(), [poll]);
  const [before, setBefore] = useState<DeviceList>();
  const device = poll.state.value.data;
  const name = device?.name ?? slug;
  const pair = () => void api.get<DeviceList>("/v1/admin/devices").then(setBefore, () => undefined);
  return (
    <>
      <PageTitle name={visible(shortName(name))}>
        {device && (
          <>
            <Rename device={slug} name={name} again={again} />
            <Button off={!mayWrite.value} onPress={pair}>
              {t("pair.again")}
            </Button>
            <Revoke
              what={{ device: slug }}
              name={name}
              ends={liveTokens(device as unknown as DeviceRow).length}
              again={again}
            />
          </>
        )}
        <Link to={{ device: "", tab: "" }}>{t("back")}</Link>
      </PageTitle>
      <Loaded poll={poll}>{(found) => <Whole device={found} again={again} />}</Loaded>
      {before && (
        <PairDialog
          before={before}
          device={slug}
          onMade={again}
          onClose={() => setBefore(undefined)}
        />
      )}
    </>
  );
}
