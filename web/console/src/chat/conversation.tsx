import { useEffect, useMemo } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { ErrorCard } from "@crab/web-shared/error-card";
import { LinkState } from "@crab/web-shared/link-state";
import { Spoken } from "@crab/web-shared/live";
import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";
import { shortName } from "@crab/web-shared/words";

import { chatsOnly, mayChat } from "../store";
import { ApprovalsHere } from "./approvals-here";
import { chatOf, show } from "./chats";
import { Composer } from "./composer";
import { Items } from "./items";
import type { ChatLink } from "./link";
import { t } from "./texts";

function Link({ chat }: { readonly chat: ChatLink }) {
  const link = chat.link.value;
  if (link.state === "refused") return null;
  if (link.state === "ended") return <span class="quiet">{t("ended")}</span>;
  return <LinkState link={link} onNow={() => chat.tryNow()} />;
}

/** One chat: what was said, what needs the person, and where to type. */
export function Conversation({ session, agent }: { session: string; agent: string }) {
  const chat = useMemo(() => chatOf(session, agent), [session]);
  useEffect(() => show(session), [session]);
  const now = chat.chat.value;
  const link = chat.link.value;
  const last = now.items[now.items.length - 1];
  return (
    <section class="conversation" aria-label={visible(shortName(now.name || t("new")))}>
      <div class="row conversation-head">
        <strong>
          <SafeText text={now.name || t("new")} most={80} />
        </strong>
        <span class="quiet">
          {now.agent && <SafeText text={now.agent} most={60} />}{" "}
          {now.model && <SafeText text={now.model} most={60} />}
        </span>
        <Link chat={chat} />
        {now.running && <Spoken as="span">{t("running")}</Spoken>}
        {!now.running && last?.kind === "answer" && (
          <Button small off={link.state !== "live" || !mayChat.value} onPress={() => chat.again()}>
            {t("again")}
          </Button>
        )}
      </div>
      {link.state === "refused" && <ErrorCard error={link.error} />}
      <Items chat={now} onAnswer={(ask, answer) => chat.answer(ask, answer)} />
      {!chatsOnly.value && <ApprovalsHere session={session} />}
      <Composer chat={chat} />
    </section>
  );
}
