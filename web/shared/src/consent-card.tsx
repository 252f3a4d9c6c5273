import { Fragment } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { Button } from "./button";
import "./consent-card.css";
import { Countdown } from "./countdown";
import { announceNow } from "./live";
import { SafeText } from "./safe-text";
import { useSettled } from "./settled";
import { t } from "./strings/kit";

/** What somebody is asked; texts are those of whoever wants the call. */
export interface Question {
  readonly tool: string;
  /** Who calls, as it was proven. */
  readonly account: string;
  /** Who the caller says it is. */
  readonly claims?: string | undefined;
  readonly args: unknown;
  /** Milliseconds of the gateway's clock. */
  readonly until?: number | undefined;
  /** Why it is asked: the rule, the device, the session. */
  readonly because?: string | undefined;
  /** The first of three, if others wait behind it. */
  readonly place?: { readonly at: number; readonly all: number } | undefined;
}

export interface Answer {
  readonly answer: string;
  readonly label: string;
  /** What it covers, in words. */
  readonly covers?: string;
  readonly kind?: "primary" | "plain" | "danger";
}

interface Props {
  readonly question: Question;
  /** Two at most; the others behind *More*. */
  readonly answers: readonly Answer[];
  readonly more?: readonly Answer[];
  readonly busy?: boolean;
  readonly onAnswer: (answer: string) => void;
}

const json = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");

function Args({ args }: { readonly args: unknown }) {
  const plain = typeof args === "object" && args !== null && !Array.isArray(args);
  const members = plain ? Object.entries(args) : args === undefined ? [] : [["", args] as const];
  if (members.length === 0) return <p class="quiet">{t("question.none")}</p>;
  return (
    <div class="consent-args" role="group" tabIndex={0} aria-label={t("question.args")}>
      <dl>
        {members.map(([name, value]) => (
          <Fragment key={name}>
            <dt>
              <SafeText text={name} most={Infinity} />
            </dt>
            <dd>
              <SafeText text={json(value)} most={Infinity} lines />
            </dd>
          </Fragment>
        ))}
      </dl>
    </div>
  );
}

/** Who calls: what was proven, and what is only said. */
function Who({ account, claims }: Pick<Question, "account" | "claims">) {
  if (!account && !claims) return null;
  return (
    <p class="consent-who">
      <span class="consent-account">
        <SafeText text={account} most={Infinity} />
      </span>{" "}
      {claims && <span class="quiet">{t("question.claims", { name: claims })}</span>}
    </p>
  );
}

/** Which of how many it is, and the time that is left. */
export function ConsentPlace({ question }: Pick<Props, "question">) {
  const { place, until, tool } = question;
  return (
    <>
      {place && place.all > 1 && (
        <span class="quiet consent-place">
          {t("question.place", { place: place.at, all: place.all })}
        </span>
      )}
      {until !== undefined && <Countdown until={until} about={tool} />}
    </>
  );
}

/**
 * What is asked and its answers, below whatever names the tool. The buttons do nothing until the
 * question has stood still for half a second. Answers are pressed or tapped, there is no key for
 * one.
 */
export function ConsentBody({ question, answers, more = [], busy = false, onAnswer }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const { settled, still } = useSettled(box);
  const { tool, account } = question;
  useEffect(() => announceNow([account, tool].filter(Boolean).join(": ")), [account, tool]);
  const press = (answer: string) => {
    if (still()) onAnswer(answer);
  };
  const button = ({ answer, label, kind }: Answer) => (
    <Button
      key={answer}
      kind={kind ?? "plain"}
      off={!settled}
      busy={busy}
      onPress={() => press(answer)}
    >
      {label}
    </Button>
  );
  return (
    <div class="consent-body" ref={box}>
      <Who account={account} claims={question.claims} />
      <Args args={question.args} />
      {question.because && (
        <p class="quiet">
          <SafeText text={question.because} />
        </p>
      )}
      <div class="consent-answers">
        {answers.map(button)}
        {more.length > 0 && (
          <Button
            kind="bare"
            expanded={open}
            label={t("more.answers")}
            onPress={() => setOpen(!open)}
          >
            {t("more")}
          </Button>
        )}
      </div>
      {open && (
        <div class="consent-more">
          {more.map((answer) => (
            <div key={answer.answer}>
              {button(answer)}{" "}
              {answer.covers && (
                <span class="quiet">
                  <SafeText text={answer.covers} />
                </span>
              )}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** A call that waits for a person, as a part of a page. */
export function ConsentCard(props: Props) {
  const id = useId();
  const { question } = props;
  return (
    <article class="consent" aria-labelledby={id}>
      <div class="consent-head">
        <h2 class="consent-tool" id={id}>
          <SafeText text={question.tool} most={Infinity} />
        </h2>
        <ConsentPlace question={question} />
      </div>
      <ConsentBody {...props} />
    </article>
  );
}
