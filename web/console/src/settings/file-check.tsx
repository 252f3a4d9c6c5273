import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { Confirm } from "@crab/web-shared/dialog";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Spoken } from "@crab/web-shared/live";
import { SafeText } from "@crab/web-shared/safe-text";

import type { ApiError } from "../api";
import { DiffView } from "../diff-view";
import { useDoing } from "../doing";
import { api, mayWrite } from "../store";
import type { ConfigChange, ConfigCheck, ConfigProblem } from "./shapes";
import { t } from "./texts";

function Problem({ problem }: { readonly problem: ConfigProblem }) {
  return (
    <li>
      {problem.line ? <strong>{t("line", { line: String(problem.line) })} </strong> : null}
      {problem.pointer && <code>{problem.pointer} </code>}
      <SafeText text={problem.message} />
    </li>
  );
}

function Change({ change }: { readonly change: ConfigChange | string }) {
  if (typeof change === "string")
    return (
      <li>
        <SafeText text={change} />
      </li>
    );
  return (
    <li>
      <strong>
        <SafeText text={change.key} most={100} />
      </strong>{" "}
      {change.restart && <span class="quiet">{t("restart")}</span>}
      <DiffView label={change.key} before={change.before} after={change.after} />
    </li>
  );
}

function Found({ found }: { readonly found: ConfigCheck }) {
  const { problems, changes } = found;
  return (
    <div class="stack">
      {problems.length === 0 && <Spoken>{t("checked")}</Spoken>}
      {problems.length > 0 && (
        <div class="notice bad">
          <Spoken>
            {t("problems", { n: problems.length })}. {t("changes.refused")}
          </Spoken>
          <ul>
            {problems.map((problem, index) => (
              <Problem key={index} problem={problem} />
            ))}
          </ul>
        </div>
      )}
      <h3>{t("changes")}</h3>
      {changes.length === 0 && <p class="quiet">{t("changes.none")}</p>}
      <ul class="plain">
        {changes.map((change, index) => (
          <Change key={index} change={change} />
        ))}
      </ul>
    </div>
  );
}

/** The file on disk against what runs, and the reload that makes them one. */
export function FileCheck({ again }: { readonly again: () => void }) {
  const [found, setFound] = useState<ConfigCheck>();
  const [error, setError] = useState<ApiError>();
  const [checking, setChecking] = useState(false);
  const [asked, ask] = useState(false);
  const check = () => {
    setChecking(true);
    setError(undefined);
    api
      .post<ConfigCheck>("/v1/admin/config/check", {})
      .then(setFound, setError)
      .finally(() => setChecking(false));
  };
  const [busy, run] = useDoing(() => {
    ask(false);
    setFound(undefined);
    again();
  });
  return (
    <Card
      title={t("file")}
      actions={
        <div class="row">
          <Button small busy={checking} onPress={check}>
            {t("check")}
          </Button>
          <Button small off={!mayWrite.value} onPress={() => ask(true)}>
            {t("reload")}
          </Button>
        </div>
      }
    >
      <p class="quiet">{t("only")}</p>
      {error && <ErrorCard error={error} onRetry={check} />}
      {found && <Found found={found} />}
      {asked && (
        <Confirm
          title={t("reload.sure")}
          action={t("reload")}
          busy={busy}
          onYes={() => void run(api.post("/v1/admin/reload", {}), t("reloaded"))}
          onNo={() => ask(false)}
        >
          <p>{t("reload.what")}</p>
        </Confirm>
      )}
    </Card>
  );
}
