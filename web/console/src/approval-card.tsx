import { ConsentCard, type Answer } from "@crab/web-shared/consent-card";

import { segment } from "./api";
import { type Approval, argumentsOf, type Decision, lastingAnswers, type Scope } from "./approvals";
import { useDoing } from "./doing";
import { t } from "./pages/approvals.texts";
import { api } from "./store";

export const APPROVALS = "/v1/admin/approvals";

export const decide = (id: string, decision: Decision, scope: Scope): Promise<unknown> =>
  api.post(`${APPROVALS}/${segment(id)}`, { decision, scope });

const FIRST_ANSWERS = (): readonly Answer[] => [
  { answer: "allow once", label: t("allow.once"), kind: "primary" },
  { answer: "deny once", label: t("deny") },
];

function moreAnswers(approval: Approval): Answer[] {
  const { tool, principal: who, source } = approval;
  return lastingAnswers(approval).map(([decision, scope]) => ({
    answer: `${decision} ${scope}`,
    label: scope === "session" ? t("allow.session") : t(`${decision}.always`),
    covers: t(scope === "session" ? "covers.session" : "covers.always", { tool, who, source }),
    kind: decision === "deny" ? "danger" : "plain",
  }));
}

/** A call that waits, with the answers that it can have. */
export function Waiting({
  approval,
  again,
}: {
  readonly approval: Approval;
  readonly again: () => void;
}) {
  const [busy, run] = useDoing(again);
  const { id, tool, rule, source, session } = approval;
  const because = [rule, source, session && t("session", { name: session })];
  const answered = (answer: string) => {
    const [decision, scope] = answer.split(" ") as [Decision, Scope];
    void run(decide(id, decision, scope), t(`done.${decision}`, { tool }));
  };
  return (
    <ConsentCard
      question={{
        tool,
        account: approval.principal,
        claims: approval.agent,
        args: argumentsOf(approval.args),
        until: Date.parse(approval.until),
        because: because.filter(Boolean).join(" | "),
      }}
      answers={FIRST_ANSWERS()}
      more={moreAnswers(approval)}
      busy={busy}
      onAnswer={answered}
    />
  );
}
