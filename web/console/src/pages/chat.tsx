import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Choice } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";
import { distance } from "@crab/web-shared/words";

import { Conversation } from "../chat/conversation";
import { t } from "../chat/texts";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { type SessionList, sessionsWith, titleOf } from "../sessions/shapes";
import { api, mayChat } from "../store";
import { t as shell } from "../strings/shell";
import "./chat.css";

const EVERY_MS = 5_000;
const NEVER_MS = 2 ** 31 - 1;
const MOST_SHOWN = 50;

interface Agents {
  readonly agents: readonly { readonly name: string }[];
}

/** Which agent; there is a standard one. */
function AgentChoice(props: { readonly agent: string; readonly onAgent: (name: string) => void }) {
  const poll = usePoll(() => api.get<Agents>("/api/agents"), NEVER_MS);
  const names = poll.state.value.data?.agents.map(({ name }) => name) ?? [];
  if (names.length === 0) return null;
  return (
    <Choice
      label={t("agent")}
      value={props.agent}
      options={[
        { value: "", label: t("standard") },
        ...names.map((name) => ({ value: name, label: visible(name) })),
      ]}
      onValue={props.onAgent}
    />
  );
}

/** Begins a chat with an agent; the session is made when the link is. */
function NewChat() {
  const [agent, setAgent] = useState("");
  const begin = () => go({ session: `console-${crypto.randomUUID()}`, agent });
  return (
    <div class="stack new-chat">
      <AgentChoice agent={agent} onAgent={setAgent} />
      <Button icon="plus" off={!mayChat.value} onPress={begin}>
        {t("new")}
      </Button>
    </div>
  );
}

function Chats({ current }: { readonly current: string }) {
  const poll = usePoll(() => api.get<SessionList>("/api/sessions"), EVERY_MS);
  return (
    <nav class="chats" aria-label={t("chats")}>
      <NewChat />
      <Loaded poll={poll} size="card">
        {({ sessions }) => (
          <ul class="plain">
            {sessionsWith(sessions, "")
              .slice(0, MOST_SHOWN)
              .map((one) => (
                <li key={one.session_id}>
                  <Link
                    to={{ session: one.session_id, agent: "" }}
                    current={one.session_id === current}
                  >
                    <SafeText text={titleOf(one)} most={60} />
                  </Link>
                  <div class="quiet">{distance(one.last_activity)}</div>
                </li>
              ))}
          </ul>
        )}
      </Loaded>
    </nav>
  );
}

/** Talks with an agent. Leaving a chat stops no turn. */
export default function ChatPage() {
  const session = place.value.get("session") ?? "";
  return (
    <>
      <PageTitle name={shell("page.chat")}>
        {session !== "" && (
          <span class="narrow">
            <Link to={{ session: "", agent: "" }}>{t("chats")}</Link>
          </span>
        )}
      </PageTitle>
      <div class={session === "" ? "chat-page" : "chat-page open"}>
        <Chats current={session} />
        {session === "" ? (
          <EmptyState title={t("new.first")}>{t("empty.why")}</EmptyState>
        ) : (
          <Conversation key={session} session={session} agent={place.value.get("agent") ?? ""} />
        )}
      </div>
    </>
  );
}
