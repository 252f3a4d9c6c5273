import { Card } from "@crab/web-shared/card";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { Loaded, usePoll } from "../loaded";
import { api } from "../store";
import type { Offer } from "./shapes";
import { t } from "./texts";

const EVERY_MS = 30_000;
const MOST_ROWS = 200;

/** What a model of an agent is told of, and what that costs with each question. */
export function OfferView({ agent }: { readonly agent: string }) {
  const path = `/v1/admin/agents/tools?${new URLSearchParams({ agent }).toString()}`;
  const poll = usePoll(() => api.get<Offer>(path), EVERY_MS, [agent]);
  return (
    <Loaded poll={poll} size="card">
      {(offer) => (
        <Card title={t("tools")}>
          <p class="quiet">
            {t("offer.sum", {
              n: offer.tools.filter(({ offered }) => offered).length,
              all: offer.visible,
              tokens: offer.offered_tokens,
              most: offer.max_tokens,
            })}
          </p>
          {offer.searched && <p>{t("offer.searched")}</p>}
          <table>
            <caption class="unseen-caption">{t("tools")}</caption>
            <tbody>
              {offer.tools.slice(0, MOST_ROWS).map((tool) => (
                <tr key={tool.name}>
                  <td>
                    <SafeText text={tool.name} most={100} />
                  </td>
                  <td>
                    <Pill tone={tool.offered ? "good" : "plain"}>
                      {t(tool.offered ? "offered" : "not.offered")}
                    </Pill>
                  </td>
                  <td class="number">{t("tokens", { n: tool.tokens })}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Card>
      )}
    </Loaded>
  );
}
