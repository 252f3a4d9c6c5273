import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { TextField } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";

import type { AskItem } from "./frames";
import { t } from "./texts";

interface Props {
  readonly ask: AskItem;
  readonly onAnswer: (answer: unknown) => void;
}

function Choices({ ask, onAnswer }: Props) {
  const [chosen, choose] = useState<readonly string[]>([]);
  const several = ask.form === "multi_select";
  const press = (id: string) => {
    if (!several) return onAnswer(id);
    choose(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  };
  return (
    <>
      {ask.options.map(({ id, label }) => (
        <Button key={id} pressed={several && chosen.includes(id)} onPress={() => press(id)}>
          <SafeText text={label} most={200} />
        </Button>
      ))}
      {several && (
        <Button kind="primary" off={chosen.length === 0} onPress={() => onAnswer(chosen)}>
          {t("ask.send")}
        </Button>
      )}
    </>
  );
}

function Words({ onAnswer }: Pick<Props, "onAnswer">) {
  const [text, setText] = useState("");
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== "") onAnswer(text);
      }}
    >
      <TextField label={t("ask.send")} value={text} onValue={setText} most={1_000} />
      <Button kind="primary" off={text === ""} onPress={() => onAnswer(text)}>
        {t("ask.send")}
      </Button>
    </form>
  );
}

/** A question of the agent; nothing is sent until the person presses. */
export function AskCard({ ask, onAnswer }: Props) {
  return (
    <article class="ask-card" aria-label={t("asks")}>
      <p>
        <strong>{t("asks")}:</strong> <SafeText text={ask.question} most={2_000} lines />
      </p>
      {ask.state === "open" ? (
        <div class="row">
          {ask.form === "confirm" && (
            <>
              <Button kind="primary" onPress={() => onAnswer(true)}>
                {t("ask.yes")}
              </Button>
              <Button onPress={() => onAnswer(false)}>{t("ask.no")}</Button>
            </>
          )}
          {ask.form === "text" && <Words onAnswer={onAnswer} />}
          {ask.form.endsWith("select") && <Choices ask={ask} onAnswer={onAnswer} />}
          <Button kind="bare" onPress={() => onAnswer(undefined)}>
            {t("ask.decline")}
          </Button>
        </div>
      ) : (
        <p class="quiet">{t(ask.state === "sent" ? "ask.sent" : "ask.over")}</p>
      )}
    </article>
  );
}
