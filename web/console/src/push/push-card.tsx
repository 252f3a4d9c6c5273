import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { SafeText } from "@crab/web-shared/safe-text";
import { moment } from "@crab/web-shared/words";

import { useDoing } from "../doing";
import { Loaded, usePoll } from "../loaded";
import { api, mayWrite } from "../store";
import {
  ability,
  ownId,
  type PushSubscriptionRow,
  subscribe,
  subscriptions,
  tryOut,
  unsubscribe,
} from "./subscribe";
import { t } from "./texts";

const EVERY_MS = 60_000;

interface RowProps {
  readonly row: PushSubscriptionRow;
  readonly again: () => void;
}

export function SubscriptionRow({ row, again }: RowProps) {
  const [busy, run] = useDoing(again);
  const when = moment(row.created_at);
  const words = { who: row.principal, when, service: row.service };
  return (
    <li class="row">
      <span>
        <SafeText text={t("row", words)} most={200} />
        {row.id === ownId() && ` (${t("this")})`}
      </span>
      {row.yours && (
        <>
          <Button small busy={busy} onPress={() => void run(tryOut(api, row.id), t("test.done"))}>
            {t("test")}
          </Button>
          <Button
            small
            busy={busy}
            label={t("off.of", words)}
            onPress={() => void run(unsubscribe(api, row.id), t("off.done"))}
          >
            {t("off")}
          </Button>
        </>
      )}
    </li>
  );
}

async function turnOn(): Promise<void> {
  await subscribe(api).catch((error: unknown) => {
    const refused = error instanceof Error && error.message === "denied";
    throw refused ? new Error(t("denied")) : error;
  });
}

function Here({ known, again }: { known: readonly PushSubscriptionRow[]; again: () => void }) {
  const [busy, run] = useDoing(again);
  const can = ability();
  if (can === "home-screen") return <p>{t("home.screen")}</p>;
  if (can === "no") return <p>{t("no")}</p>;
  if (known.some(({ id }) => id === ownId())) return null;
  return (
    <div class="row">
      <Button busy={busy} off={!mayWrite.value} onPress={() => void run(turnOn(), t("on.done"))}>
        {t("on")}
      </Button>
    </div>
  );
}

/** Which browsers the gateway tells of calls that wait, and whether this is one of them. */
export function PushCard() {
  const poll = usePoll(() => subscriptions(api), EVERY_MS);
  const again = () => void poll.again();
  return (
    <Card title={t("title")}>
      <p class="quiet">
        {t("about")} {t("about.waits")}
      </p>
      <Loaded poll={poll}>
        {(known) => (
          <>
            <Here known={known} again={again} />
            {known.length > 0 && (
              <ul class="plain" aria-label={t("others")}>
                {known.map((row) => (
                  <SubscriptionRow key={row.id} row={row} again={again} />
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}
