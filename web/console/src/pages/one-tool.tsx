import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";
import { shortName } from "@crab/web-shared/words";

import { segment } from "../api";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { api } from "../store";
import { Try, type WholeTool } from "../try/try";
import { Diagnose } from "./diagnose";
import { StateBadge } from "./tools";
import { t } from "./tools.texts";

/** A tool's schema does not change under somebody who fills its form. */
const NEVER_MS = 2 ** 31 - 1;

/** What a device is called in a tool's source. */
const deviceOf = (source: string): string => /^device\/(.+)$/.exec(source)?.[1] ?? "";

/** One tool: what it is, and the form to call it. */
export function OneTool({ name }: { readonly name: string }) {
  const [why, setWhy] = useState(false);
  const poll = usePoll(() => api.get<WholeTool>(`/v1/admin/tools/${segment(name)}`), NEVER_MS);
  const source = poll.state.value.data?.source ?? "";
  return (
    <>
      <PageTitle name={visible(shortName(name))}>
        <Button onPress={() => setWhy(true)}>{t("why.open")}</Button>
        <Link to={{ tool: "" }}>{t("back")}</Link>
      </PageTitle>
      <Loaded poll={poll}>
        {(tool) => (
          <div class="stack">
            <div class="row">
              <StateBadge tool={tool} />
              <span class="quiet">
                <SafeText text={tool.source} most={80} />
              </span>
            </div>
            {tool.description && (
              <p>
                <SafeText text={tool.description} lines />
              </p>
            )}
            {tool.state === "offered" && (
              <Card>
                <Try tool={tool} />
              </Card>
            )}
            {tool.state !== "offered" && (
              <p class="notice warn">
                {t("try.off")} {tool.reason && <SafeText text={tool.reason} />}
              </p>
            )}
          </div>
        )}
      </Loaded>
      {why && <Diagnose device={deviceOf(source)} tool={name} onClose={() => setWhy(false)} />}
    </>
  );
}
