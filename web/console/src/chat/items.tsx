import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { CopyButton } from "@crab/web-shared/copy-button";
import { EmptyState } from "@crab/web-shared/empty-state";
import { SafeText } from "@crab/web-shared/safe-text";

import { AskCard } from "./ask-card";
import type { AskItem, Chat, Item } from "./frames";
import { Markdown } from "./markdown-view";
import { t } from "./texts";
import { ToolCard } from "./tool-card";

/** Items in the document at first, and with each press of *earlier*. */
const WINDOW = 80;
const NEAR_END_PX = 80;

interface OneProps {
  readonly item: Item;
  readonly onAnswer: (ask: AskItem, answer: unknown) => void;
}

function One({ item, onAnswer }: OneProps) {
  switch (item.kind) {
    case "user":
      return (
        <div class="said by-you">
          <span class="unseen-caption">{t("you")}: </span>
          <SafeText text={item.text} most={20_000} lines />
        </div>
      );
    case "answer":
      return (
        <div class="said">
          <Markdown text={item.text} />
          <div class="said-tools">
            <CopyButton text={item.text} />
          </div>
        </div>
      );
    case "thought":
      return (
        <details class="thought">
          <summary>{t("thought")}</summary>
          <SafeText text={item.text} most={20_000} lines />
        </details>
      );
    case "tool":
      return <ToolCard tool={item} />;
    case "ask":
      return <AskCard ask={item} onAnswer={(answer) => onAnswer(item, answer)} />;
    case "note":
      return (
        <p class={item.code === "ABORTED" ? "notice" : "notice bad"}>
          {item.code === "ABORTED" ? t("aborted") : <SafeText text={item.text} />}{" "}
          {item.code !== "ABORTED" && (
            <code>
              <SafeText text={item.code} most={60} />
            </code>
          )}
        </p>
      );
  }
}

/** Keeps the end in view while the reader is there, and leaves them alone once they scroll up. */
function useFollowing(change: unknown) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    const { current } = box;
    if (current && atEnd.current) current.scrollTop = current.scrollHeight;
  }, [change]);
  const onScroll = () => {
    const { current } = box;
    if (!current) return;
    const left = current.scrollHeight - current.scrollTop - current.clientHeight;
    atEnd.current = left < NEAR_END_PX;
  };
  return { box, onScroll };
}

interface Props {
  readonly chat: Chat;
  readonly onAnswer: (ask: AskItem, answer: unknown) => void;
}

/** What was said, the end of it in the document; the rest on a press. */
export function Items({ chat, onAnswer }: Props) {
  const [most, setMost] = useState(WINDOW);
  const { box, onScroll } = useFollowing(chat);
  const hidden = Math.max(0, chat.items.length - most);
  return (
    <div
      class="said-all"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-label={t("messages")}
      aria-busy={chat.running}
    >
      {chat.items.length === 0 && !chat.running && (
        <EmptyState title={t("empty")}>{t("empty.why")}</EmptyState>
      )}
      {hidden > 0 && (
        <Button small onPress={() => setMost(most + WINDOW)}>
          {t("earlier", { n: hidden })}
        </Button>
      )}
      {chat.items.slice(hidden).map((item) => (
        <One key={item.key} item={item} onAnswer={onAnswer} />
      ))}
    </div>
  );
}
