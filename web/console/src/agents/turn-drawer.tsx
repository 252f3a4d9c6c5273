import { Drawer } from "@crab/web-shared/drawer";
import { SafeText } from "@crab/web-shared/safe-text";
import { moment } from "@crab/web-shared/words";

import { segment } from "../api";
import { CallsOf } from "../calls/calls-of";
import { Markdown } from "../chat/markdown-view";
import { Facts } from "../facts";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { api } from "../store";
import { saidIn, type WholeTurn } from "./shapes";
import { t } from "./texts";

const EVERY_MS = 3_000;

function Whole({ found }: { readonly found: WholeTurn }) {
  const { turn } = found;
  return (
    <div class="stack">
      <Facts
        facts={[
          [t("event"), turn.event_type],
          [t("begun"), moment(turn.begun_at)],
          [t("ended"), turn.ended_at ? `${turn.end}, ${moment(turn.ended_at)}` : t("running")],
        ]}
      />
      <CallsOf filter={`session:"${turn.session_id}"`} />
      <section aria-label={t("said")}>
        <h3>{t("said")}</h3>
        {saidIn(found).map((message, index) => (
          <article key={index} class={message.role === "user" ? "turn-said asked" : "turn-said"}>
            <Markdown text={message.content} />
          </article>
        ))}
      </section>
      <Link page="chat" to={{ session: turn.session_id }}>
        {t("session")}
      </Link>
    </div>
  );
}

/** A turn that an event has started: its calls above what was said. */
export function TurnDrawer({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const path = `/v1/admin/agents/turns/${segment(id)}`;
  const poll = usePoll(() => api.get<WholeTurn>(path), EVERY_MS, [id]);
  const agent = poll.state.value.data?.turn.agent ?? t("turn");
  return (
    <Drawer title={<SafeText text={agent} most={80} />} onClose={onClose}>
      <Loaded poll={poll} size="card">
        {(found) => <Whole found={found} />}
      </Loaded>
    </Drawer>
  );
}
