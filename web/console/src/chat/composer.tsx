import { Button } from "@crab/web-shared/button";

import { mayChat } from "../store";
import type { ChatLink } from "./link";
import { t } from "./texts";

const MOST_LINES = 10;

/** What the person types; Enter sends, Shift and Enter begins a line. Kept until it is sent. */
export function Composer({ chat }: { readonly chat: ChatLink }) {
  const text = chat.draft.value;
  const live = chat.link.value.state === "live";
  const { running } = chat.chat.value;
  const send = () => {
    if (text.trim() !== "" && mayChat.value && chat.say(text)) chat.draft.value = "";
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label for="composer" class="unseen-caption">
        {t("message")}
      </label>
      <textarea
        id="composer"
        class="input"
        placeholder={t("message")}
        rows={Math.min(MOST_LINES, Math.max(1, text.split("\n").length))}
        value={text}
        onInput={(event) => (chat.draft.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {running && (
        <Button kind="danger" onPress={() => void chat.abort()}>
          {t("abort")}
        </Button>
      )}
      <Button kind="primary" off={!live || !mayChat.value || text.trim() === ""} onPress={send}>
        {t("send")}
      </Button>
      {!live && <p class="quiet composer-note">{t("message.offline")}</p>}
      {!mayChat.value && <p class="quiet composer-note">{t("read.only")}</p>}
    </form>
  );
}
