import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { moment } from "@crab/web-shared/words";

import { OfferView } from "../agents/offer-view";
import { type Agent, type AgentList, endedWell, type Turn } from "../agents/shapes";
import { t } from "../agents/texts";
import { TurnDrawer } from "../agents/turn-drawer";
import { Facts } from "../facts";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api } from "../store";
import { t as shell } from "../strings/shell";
import "./agents.css";

const EVERY_MS = 3_000;
const member = (name: string) => place.value.get(name) ?? "";

function AgentCard({ agent }: { readonly agent: Agent }) {
  const open = member("agent") === agent.name;
  return (
    <Card
      title={<SafeText text={agent.name} most={80} />}
      actions={
        <div class="row">
          <Link to={{ agent: open ? "" : agent.name }} current={open}>
            {t("tools")}
          </Link>
          <Link page="chat" to={{ session: `console-${crypto.randomUUID()}`, agent: agent.name }}>
            {t("chat")}
          </Link>
        </div>
      }
    >
      <Facts
        facts={[
          [t("models"), agent.models.join(", ")],
          [t("events"), agent.events.join(", ") || t("events.none")],
        ]}
      />
      {open && <OfferView agent={agent.name} />}
    </Card>
  );
}

function TurnRow({ turn }: { readonly turn: Turn }) {
  const well = endedWell(turn);
  return (
    <tr>
      <td>
        <Link to={{ turn: turn.turn_id }}>{moment(turn.begun_at)}</Link>
        <div class="quiet">
          <SafeText text={turn.event_type} most={80} />
        </div>
      </td>
      <td>
        <SafeText text={turn.agent} most={60} />
      </td>
      <td class="number">
        <Pill tone={well === undefined ? "plain" : well ? "good" : "bad"}>
          {turn.end === undefined ? t("running") : <SafeText text={turn.end} most={40} />}
        </Pill>
      </td>
    </tr>
  );
}

function Lists({ found }: { readonly found: AgentList }) {
  return (
    <div class="stack">
      {found.agents.length === 0 && <EmptyState title={t("none")}>{t("none.why")}</EmptyState>}
      {found.agents.map((agent) => (
        <AgentCard key={agent.name} agent={agent} />
      ))}
      <Card title={t("turns")}>
        {found.turns.length === 0 && <p class="quiet">{t("turns.none")}</p>}
        <table>
          <caption class="unseen-caption">{t("turns")}</caption>
          <tbody>
            {found.turns.map((turn) => (
              <TurnRow key={turn.turn_id} turn={turn} />
            ))}
          </tbody>
        </table>
      </Card>
    </div>
  );
}

/** Agents, what their models are told of, and what they did when nobody asked. */
export default function Agents() {
  const poll = usePoll(() => api.get<AgentList>("/v1/admin/agents"), EVERY_MS);
  const turn = member("turn");
  return (
    <>
      <PageTitle name={shell("page.agents")} />
      <Loaded poll={poll}>{(found) => <Lists found={found} />}</Loaded>
      {turn !== "" && <TurnDrawer key={turn} id={turn} onClose={() => go({ turn: "" })} />}
    </>
  );
}
