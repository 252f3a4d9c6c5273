import { useCallback, useEffect, useRef } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { clock } from "@crab/web-shared/words";

import { segment } from "../api";
import { decide, APPROVALS, Waiting } from "../approval-card";
import {
  allowsRepeat,
  type Approval,
  type ApprovalList,
  inOrder,
  isOpen,
  type Remembered,
} from "../approvals";
import { useWatching } from "../approvals-watch";
import { useDoing } from "../doing";
import { useNews } from "../live/use-live";
import { Loaded, usePoll } from "../loaded";
import { PageTitle, waiting } from "../page-title";
import { PushCard } from "../push/push-card";
import { api } from "../store";
import { t as shell } from "../strings/shell";
import "./approvals.css";
import { t } from "./approvals.texts";

const EVERY_MS = 2_000;

interface Known extends ApprovalList {
  readonly remembered: readonly Remembered[];
}

const read = async (): Promise<Known> => {
  const [list, { remembered }] = await Promise.all([
    api.get<ApprovalList>(APPROVALS),
    api.get<{ remembered: readonly Remembered[] }>(`${APPROVALS}/remembered`),
  ]);
  return { ...list, remembered };
};

function EndedRow({
  approval,
  again,
}: {
  readonly approval: Approval;
  readonly again: () => void;
}) {
  const [busy, run] = useDoing(again);
  const { id, tool, state, decided_by: by } = approval;
  return (
    <tr>
      <td>
        <SafeText text={tool} most={80} />
        <div class="quiet">
          <SafeText text={approval.principal} most={80} /> {clock(approval.asked_at)}
        </div>
      </td>
      <td>
        <Pill tone={state === "allowed" ? "good" : "warn"}>
          <SafeText text={state} most={40} />
        </Pill>
        {by && <div class="quiet">{t("decided", { who: by })}</div>}
      </td>
      <td class="number">
        {allowsRepeat(approval) && (
          <Button
            small
            busy={busy}
            label={t("repeat.of", { tool })}
            onPress={() => void run(decide(id, "allow", "once"), t("done.repeat", { tool }))}
          >
            {t("repeat")}
          </Button>
        )}
      </td>
    </tr>
  );
}

function RememberedRow({ one, again }: { readonly one: Remembered; readonly again: () => void }) {
  const [busy, run] = useDoing(again);
  const { id, tool, principal: who, source } = one;
  const forget = () =>
    void run(api.delete(`${APPROVALS}/remembered/${segment(id)}`), t("done.forgotten", { tool }));
  return (
    <tr>
      <td>
        {t(one.scope === "session" ? "covers.session" : "covers.always", { tool, who, source })}
        <div class="quiet">{t("decided", { who: one.decided_by })}</div>
      </td>
      <td>
        <Pill tone={one.decision === "allow" ? "good" : "bad"}>
          {one.decision === "allow" ? t("allow") : t("deny.always")}
        </Pill>
      </td>
      <td class="number">
        <Button small busy={busy} label={t("forget.of", { tool })} onPress={forget}>
          {t("forget")}
        </Button>
      </td>
    </tr>
  );
}

function Lists({ known, again }: { readonly known: Known; readonly again: () => void }) {
  const shown = useRef<readonly string[]>([]);
  const open = inOrder(known.approvals, shown.current);
  useEffect(() => {
    shown.current = open.map(({ id }) => id);
    waiting.value = open.length;
  });
  const over = known.approvals.filter((one) => !isOpen(one));
  return (
    <>
      <section class="approvals" aria-label={t("waiting")}>
        {open.length === 0 && <EmptyState title={t("none.title")}>{t("none.why")}</EmptyState>}
        {open.map((one) => (
          <Waiting key={one.id} approval={one} again={again} />
        ))}
      </section>
      {known.watchers === 0 && <p class="notice warn">{t("unattended")}</p>}
      <div class="stack">
        <Card title={t("ended")}>
          {over.length === 0 && <p class="quiet">{t("nothing.ended")}</p>}
          <table>
            <tbody>
              {over.map((one) => (
                <EndedRow key={one.id} approval={one} again={again} />
              ))}
            </tbody>
          </table>
        </Card>
        <Card title={t("remembered")}>
          {known.remembered.length === 0 && <p class="quiet">{t("nothing.remembered")}</p>}
          <table>
            <tbody>
              {known.remembered.map((one) => (
                <RememberedRow key={one.id} one={one} again={again} />
              ))}
            </tbody>
          </table>
        </Card>
      </div>
    </>
  );
}

export default function Approvals() {
  const poll = usePoll(read, EVERY_MS);
  const again = useCallback(() => void poll.again(), [poll]);
  useNews(poll, ({ asked }) => asked);
  useWatching(again);
  return (
    <>
      <PageTitle name={shell("page.approvals")} />
      <Loaded poll={poll}>{(known) => <Lists known={known} again={again} />}</Loaded>
      <PushCard />
    </>
  );
}
