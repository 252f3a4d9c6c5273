import { Card } from "@crab/web-shared/card";

import { filtered, parseFilter } from "../call-filter";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { place } from "../place";
import { api, type CallList } from "../store";
import { EndedRow } from "./rows";
import { t } from "./texts";

const EVERY_MS = 2_000;
const MOST_ROWS = 50;
const LATEST = 1_000;

/** The latest calls that fit a filter, and the way to all of them. */
export function CallsOf({ filter }: { readonly filter: string }) {
  const poll = usePoll(() => api.get<CallList>(`/v1/admin/calls?limit=${LATEST}`), EVERY_MS);
  return (
    <Loaded poll={poll} size="card">
      {({ recent }) => {
        const rows = filtered(recent, parseFilter(filter)).slice(0, MOST_ROWS);
        return (
          <Card title={t("ended")}>
            {rows.length === 0 && <p class="quiet">{t("none")}</p>}
            <table>
              <caption class="unseen-caption">{t("ended")}</caption>
              <tbody>
                {rows.map((call) => (
                  <EndedRow
                    key={call.call_id}
                    call={call}
                    open={place.value.get("call") === call.call_id}
                  />
                ))}
              </tbody>
            </table>
            <Link page="calls" to={{ filter }}>
              {t("open")}
            </Link>
          </Card>
        );
      }}
    </Loaded>
  );
}
