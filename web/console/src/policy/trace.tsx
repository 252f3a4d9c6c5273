import { useEffect, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Choice, TextField } from "@crab/web-shared/field";
import { Skeleton } from "@crab/web-shared/skeleton";
import { Switch } from "@crab/web-shared/switch";

import type { ApiError } from "../api";
import { go, place } from "../place";
import { api } from "../store";
import { JsonArea } from "../try/json-area";
import type { Json } from "../try/schema";
import { usePrincipals } from "./principals";
import { type Asked, type Explanation, KINDS, questionOf } from "./shapes";
import { t } from "./texts";
import { TraceView } from "./trace-view";

const member = (name: string) => place.value.get(name) ?? "";

const asked = (): Asked => {
  const kind = KINDS.find((one) => one === member("kind")) ?? "call";
  return { as: member("as"), kind, what: member("tool") };
};

interface Answer {
  readonly now?: Explanation;
  /** What the file on disk would say, if it was asked. */
  readonly file?: Explanation;
  readonly error?: ApiError;
  readonly busy?: boolean;
}

async function explain(question: Asked, withFile: boolean): Promise<Answer> {
  const { as, args } = question;
  const body = { as, question: questionOf(question), ...(args !== undefined && { args }) };
  const ask = (file: boolean) =>
    api.post<Explanation>("/v1/admin/policy/explain", file ? { ...body, file } : body);
  const [now, file] = await Promise.all([ask(false), withFile ? ask(true) : undefined]);
  return file ? { now, file } : { now };
}

function FileLine({ now, file }: { readonly now: Explanation; readonly file: Explanation }) {
  const same = now.verdict === file.verdict && now.rule === file.rule;
  const { verdict, rule } = file;
  return (
    <p class={same ? "notice" : "notice warn"}>
      {same ? t("file.same") : t("file.differs", { verdict, rule })}
    </p>
  );
}

/** Can X do Y: the verdict of the policy that runs, and what each rule says. */
export function Trace() {
  const first = asked();
  const [question, setQuestion] = useState<Asked>(first);
  const [withFile, setFile] = useState(false);
  const [answer, setAnswer] = useState<Answer>({});
  const [broken, setBroken] = useState(false);
  const names = usePrincipals();
  const set = (more: Partial<Asked>) => setQuestion({ ...question, ...more });
  const ask = () => {
    const { as, kind, what } = question;
    go({ as, kind: kind === "call" ? "" : kind, tool: what }, true);
    setAnswer({ busy: true });
    explain(question, withFile).then(setAnswer, (error: ApiError) => setAnswer({ error }));
  };
  const ready = question.as !== "" && question.what !== "" && !broken;
  useEffect(() => {
    if (first.as !== "" && first.what !== "") ask();
  }, []);
  return (
    <div class="stack">
      <form
        class="policy-ask"
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) ask();
        }}
      >
        <TextField
          label={t("as")}
          hint={t("as.hint")}
          value={question.as}
          suggestions={names}
          most={200}
          onValue={(as) => set({ as })}
        />
        <Choice
          label={t("kind")}
          value={question.kind}
          options={KINDS.map((value) => ({ value, label: t(`kind.${value}`) }))}
          onValue={(kind) => set({ kind: KINDS.find((one) => one === kind) ?? "call" })}
        />
        <TextField
          label={t(question.kind === "action" ? "action" : "tool")}
          {...(question.kind === "action" && { hint: t("action.hint") })}
          value={question.what}
          most={200}
          onValue={(what) => set({ what })}
        />
        {question.kind === "call" && (
          <JsonArea
            label={t("args")}
            value={question.args}
            onBroken={setBroken}
            onValue={(args: Json | undefined) => set({ args })}
          />
        )}
        <div class="row">
          <Button kind="primary" off={!ready} busy={answer.busy === true} onPress={ask}>
            {t("ask")}
          </Button>
          <Switch on={withFile} onChange={setFile}>
            {t("file")}
          </Switch>
        </div>
      </form>
      {answer.busy && <Skeleton size="card" />}
      {answer.error && <ErrorCard error={answer.error} onRetry={ask} />}
      {answer.now && <TraceView found={answer.now} />}
      {answer.now && answer.file && <FileLine now={answer.now} file={answer.file} />}
    </div>
  );
}
