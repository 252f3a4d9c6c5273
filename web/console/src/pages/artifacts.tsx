import { useCallback, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Confirm } from "@crab/web-shared/dialog";
import { EmptyState } from "@crab/web-shared/empty-state";
import { SafeText } from "@crab/web-shared/safe-text";
import { bytes, distance } from "@crab/web-shared/words";

import "../artifacts/artifacts.css";
import { fileName, type StoredArtifact } from "../artifacts/shapes";
import { t } from "../artifacts/texts";
import { Thumbnail } from "../artifacts/thumbnail";
import { useDoing } from "../doing";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { download } from "../save";
import { api, mayWrite } from "../store";
import { t as shell } from "../strings/shell";

const EVERY_MS = 5_000;
const MOST_SHOWN = 500;

function Tile(props: { readonly artifact: StoredArtifact; readonly again: () => void }) {
  const { artifact, again } = props;
  const [asked, ask] = useState(false);
  const [busy, run] = useDoing(() => {
    ask(false);
    again();
  });
  const { tool, href } = artifact;
  return (
    <li class="artifact">
      <Thumbnail artifact={artifact} />
      <strong>
        <SafeText text={tool} most={60} />
      </strong>
      <span class="quiet">
        <SafeText text={artifact.content_type} most={60} /> {bytes(artifact.bytes)},{" "}
        {t("expires", { when: distance(artifact.expires_at) })}
      </span>
      <div class="row">
        <Button
          small
          icon="download"
          busy={busy}
          label={t("download.of", { tool })}
          onPress={() => void run(download(href, fileName(artifact)), t("downloaded"))}
        />
        <Button
          small
          icon="trash"
          off={!mayWrite.value}
          label={t("delete.of", { tool })}
          onPress={() => ask(true)}
        />
        <Link page="audit" to={{ call: artifact.call_id }}>
          {t("call")}
        </Link>
      </div>
      {asked && (
        <Confirm
          title={t("delete.sure")}
          action={t("delete")}
          busy={busy}
          onYes={() => void run(api.delete(href), t("deleted", { tool }))}
          onNo={() => ask(false)}
        >
          <p>{t("delete.what")}</p>
        </Confirm>
      )}
    </li>
  );
}

/** Large results, until they are forgotten. A document among them is only ever downloaded. */
export default function Artifacts() {
  const poll = usePoll(
    () => api.get<{ artifacts: readonly StoredArtifact[] }>("/v1/artifacts"),
    EVERY_MS,
  );
  const again = useCallback(() => void poll.again(), [poll]);
  return (
    <>
      <PageTitle name={shell("page.artifacts")} />
      <Loaded poll={poll}>
        {({ artifacts }) =>
          artifacts.length === 0 ? (
            <EmptyState title={t("none")}>{t("none.why")}</EmptyState>
          ) : (
            <>
              <p class="quiet">{t("count", { n: artifacts.length })}</p>
              <ul class="artifacts">
                {artifacts.slice(0, MOST_SHOWN).map((artifact) => (
                  <Tile key={artifact.id} artifact={artifact} again={again} />
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
    </>
  );
}
