import {
  type Answer,
  ConsentBody,
  ConsentPlace,
  type Question as CardQuestion,
} from "@crab/web-shared/consent-card";
import { Dialog } from "@crab/web-shared/dialog";
import { LiveRegions } from "@crab/web-shared/live";

import type { DevicePage } from "../device-page.js";
import type { Question } from "../questions.js";
import { later } from "../strings/later.js";
import { t } from "../strings/t.js";
import { Sign } from "./signs.js";
import { argsWords, callerAccount, callerName, toolTitle } from "./words.js";

/** Answers that hold for more than this call, each with what it covers. */
function lasting({ tool, caller }: Question["call"]): Answer[] {
  const values = { tool: toolTitle(tool), who: callerName(caller) };
  const covers = (answer: "always" | "session" | "never") => later(`ask.covers.${answer}`, values);
  return [
    { answer: "always", label: later("ask.always"), covers: covers("always") },
    { answer: "session", label: later("ask.session"), covers: covers("session") },
    { answer: "never", label: later("ask.never"), covers: covers("never"), kind: "danger" },
  ];
}

/** The question in front, over the page: may this call run, or the tap that the browser wants. */
export function Ask({ page }: { readonly page: DevicePage }) {
  const question = page.questions.open.value[0];
  if (!question) return null;
  const { call, kind, title, answer } = question;
  const others = page.calls.value.running().filter(({ phase }) => phase === "waiting").length;
  const consent = kind === "consent";
  const card: CardQuestion = {
    tool: title,
    account: callerAccount(call.caller),
    args: argsWords(call.args),
    until: call.deadline,
    ...(consent && { place: { at: 1, all: others } }),
    ...(!consent && { because: later("tap.why", { who: callerName(call.caller) }) }),
  };
  const tool = page.options.tools.find(({ name }) => name === call.tool);
  return (
    <Dialog
      key={`${call.id} ${kind}`}
      look="ask"
      noCross
      onClose={() => answer("no")}
      title={title}
    >
      <div class="ask-head">
        <Sign name={tool?.icon ?? "spark"} />
        <ConsentPlace question={card} />
      </div>
      <ConsentBody
        question={card}
        answers={[
          { answer: "once", label: later(consent ? "ask.once" : "tap.go"), kind: "primary" },
          { answer: "no", label: t("ask.no") },
        ]}
        more={consent ? lasting(call) : []}
        onAnswer={answer}
      />
      <LiveRegions />
    </Dialog>
  );
}
