import { useCallback } from "preact/hooks";

import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { TextField } from "@crab/web-shared/field";

import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { SessionRow } from "../sessions/session-row";
import { type SessionList, sessionsWith } from "../sessions/shapes";
import { t } from "../sessions/texts";
import { api } from "../store";
import { t as shell } from "../strings/shell";
import "./sessions.css";

const EVERY_MS = 5_000;
const MOST_ROWS = 300;

/** What was said with agents, by sessions. */
export default function Sessions() {
  const q = place.value.get("q") ?? place.value.get("session") ?? "";
  const poll = usePoll(() => api.get<SessionList>("/api/sessions"), EVERY_MS);
  const again = useCallback(() => void poll.again(), [poll]);
  return (
    <>
      <PageTitle name={shell("page.sessions")}>
        <Link page="chat">{t("new")}</Link>
      </PageTitle>
      <div class="session-filter" role="search">
        <TextField
          type="search"
          label={t("search")}
          value={q}
          most={200}
          onValue={(text) => go({ q: text, session: "" }, true)}
        />
      </div>
      <Loaded poll={poll}>
        {({ sessions }) => {
          const found = sessionsWith(sessions, q);
          if (sessions.length === 0)
            return <EmptyState title={t("none")}>{t("none.why")}</EmptyState>;
          if (found.length === 0)
            return <EmptyState title={t("no.hit")}>{t("no.hit.drop")}</EmptyState>;
          return (
            <Card>
              <table>
                <caption class="unseen-caption">{shell("page.sessions")}</caption>
                <tbody>
                  {found.slice(0, MOST_ROWS).map((session) => (
                    <SessionRow key={session.session_id} session={session} again={again} />
                  ))}
                </tbody>
              </table>
            </Card>
          );
        }}
      </Loaded>
    </>
  );
}
