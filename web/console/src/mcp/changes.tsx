import { Button } from "@crab/web-shared/button";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { segment } from "../api";
import { DiffView } from "../diff-view";
import { useDoing } from "../doing";
import { Loaded, usePoll } from "../loaded";
import { api, mayWrite } from "../store";
import { entryOf, type McpChange, WHYS } from "./shapes";
import { t } from "./texts";

const NEVER_MS = 2 ** 31 - 1;

interface ListProps {
  readonly path: string;
  readonly changes: readonly McpChange[];
  readonly again: () => void;
}

function ChangeList({ path, changes, again }: ListProps) {
  const [busy, run] = useDoing(again);
  const approve = (some: readonly McpChange[]) =>
    void run(
      api.post<{ approved: readonly string[] }>(`${path}/approve`, { entries: some.map(entryOf) }),
      ({ approved }) => t("approved", { n: approved.length }),
    );
  const off = !mayWrite.value;
  if (changes.length === 0) return <p class="quiet">{t("changes.none")}</p>;
  return (
    <div class="stack">
      {changes.map((change) => {
        const why = WHYS.find((one) => one === change.why);
        return (
          <article key={`${change.kind} ${change.name}`} class="stack">
            <div class="row">
              <h3>
                <SafeText text={`${change.kind} ${change.name}`} most={120} />
              </h3>
              <Pill tone="warn">
                {why ? t(`why.${why}`) : <SafeText text={change.why} most={40} />}
              </Pill>
            </div>
            <DiffView label={change.name} before={change.before} after={change.after} />
            <div class="row">
              <Button small busy={busy} off={off} onPress={() => approve([change])}>
                {t("approve", { name: change.name })}
              </Button>
            </div>
          </article>
        );
      })}
      {changes.length > 1 && (
        <div class="row">
          <Button busy={busy} off={off} onPress={() => approve(changes)}>
            {t("approve.all", { n: changes.length })}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Descriptions of a server that wait. They do not change under somebody who reads them. */
export function Changes({ name, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const path = `/v1/mcp/servers/${segment(name)}`;
  const read = () => api.get<{ changes: readonly McpChange[] }>(`${path}/diff`);
  const poll = usePoll(read, NEVER_MS, [path]);
  const again = () => {
    void poll.again();
    onDone();
  };
  return (
    <Loaded poll={poll} size="card">
      {({ changes }) => <ChangeList path={path} changes={changes} again={again} />}
    </Loaded>
  );
}
