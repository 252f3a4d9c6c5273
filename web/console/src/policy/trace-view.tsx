import { Card } from "@crab/web-shared/card";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { deciding, type Explanation, type Step, type Then, toneOf } from "./shapes";
import { t } from "./texts";

const EFFECTS = ["allow", "deny", "needs_approval", "confine"] as const;
const VERDICTS = ["allow", "deny", "needs_approval"] as const;

/** A verdict in words; one that this page does not know, as it came. */
export function VerdictPill({ verdict }: { readonly verdict: string }) {
  const known = VERDICTS.find((one) => one === verdict);
  return (
    <Pill tone={toneOf(verdict)}>
      {known ? t(`verdict.${known}`) : <SafeText text={verdict} most={40} />}
    </Pill>
  );
}

function Effect({ step }: { readonly step: Step }) {
  const known = EFFECTS.find((one) => one === step.effect);
  if (!step.matched) return <span class="quiet">--</span>;
  return (
    <Pill tone={toneOf(step.effect)}>
      {known ? t(`effect.${known}`) : <SafeText text={step.effect} most={40} />}
    </Pill>
  );
}

function StepRow({ step, wins }: { readonly step: Step; readonly wins: boolean }) {
  return (
    <li class={wins ? "step wins" : "step"}>
      <span class="step-rule">
        <SafeText text={step.rule} most={120} />
        {step.line ? <span class="quiet"> {t("line", { line: String(step.line) })}</span> : null}
      </span>
      <span>
        <Effect step={step} /> {wins && <strong>{t("wins")}</strong>}
      </span>
      <span class="quiet">
        {step.because ? <SafeText text={step.because} /> : !step.matched && t("no.match")}
      </span>
    </li>
  );
}

function ThenLine({ then }: { readonly then: Then }) {
  const { check, ok, text } = then;
  return (
    <li>
      {ok !== undefined && (
        <Pill tone={ok ? "good" : "warn"} says={t(ok ? "then.ok" : "then.not")}>
          <SafeText text={check} most={40} />
        </Pill>
      )}{" "}
      <SafeText text={text ?? (ok === undefined ? check : "")} />
    </li>
  );
}

/** A verdict, the rule that decided, and what each rule said. */
export function TraceView({ found }: { readonly found: Explanation }) {
  const { verdict, rule, steps = [], then = [] } = found;
  const winner = deciding(found);
  return (
    <Card>
      <Spoken class="row">
        <VerdictPill verdict={verdict} /> {t("verdict.by", { rule })}
        {found.depends_on_arguments && <span class="quiet">{t("matrix.depends")}</span>}
      </Spoken>
      {steps.length > 0 && (
        <ol class="steps" aria-label={t("why")}>
          {steps.map((step, index) => (
            <StepRow key={index} step={step} wins={step === winner} />
          ))}
        </ol>
      )}
      {then.length > 0 && (
        <>
          <h2>{t("then")}</h2>
          <ul class="plain">
            {then.map((one, index) => (
              <ThenLine key={index} then={one} />
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}
