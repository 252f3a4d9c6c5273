import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Choice, TextField } from "@crab/web-shared/field";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { Skeleton } from "@crab/web-shared/skeleton";
import { moment } from "@crab/web-shared/words";

import { Tail, type Tailed, type TailEvent } from "../events/tail";
import { t } from "../events/texts";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api, who } from "../store";
import { t as shell } from "../strings/shell";
import { JsonTree } from "../try/json-tree";
import "./events.css";

const TYPING_MS = 400;
const member = (name: string) => place.value.get(name) ?? "";

/** The events that the address asks for, a moment after the last key. */
function useTail(): Tail {
  const tail = useMemo(() => new Tail(api), []);
  const [types, cursor] = [member("types"), member("from")];
  const signedIn = who.value.state === "in";
  useEffect(() => {
    if (!signedIn) return undefined;
    const timer = setTimeout(() => tail.start(types, cursor), TYPING_MS);
    return () => {
      clearTimeout(timer);
      tail.end();
    };
  }, [tail, types, cursor, signedIn]);
  return tail;
}

function Row({ event }: { readonly event: TailEvent }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <div class="event-row">
        <span class="quiet">{moment(event.at)}</span>
        <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
          <SafeText text={event.type} most={100} />
        </button>
        <span class="quiet wide">
          <SafeText text={event.cursor} most={40} />
        </span>
      </div>
      {open && <JsonTree value={event.envelope} />}
    </li>
  );
}

function State({ tailed, waits }: { readonly tailed: Tailed; readonly waits: number | undefined }) {
  if (waits !== undefined) return <Pill>{t("paused", { n: waits })}</Pill>;
  const tones = { connecting: "plain", live: "good", lost: "warn", refused: "bad" } as const;
  return <Pill tone={tones[tailed.state]}>{t(`state.${tailed.state}`)}</Pill>;
}

function Filter() {
  return (
    <div class="event-filter" role="search">
      <TextField
        type="search"
        label={t("types")}
        hint={t("types.hint")}
        value={member("types")}
        most={200}
        onValue={(types) => go({ types }, true)}
      />
      <Choice
        label={t("cursor")}
        value={member("from")}
        options={[
          { value: "", label: t("cursor.now") },
          { value: "earliest", label: t("cursor.earliest") },
        ]}
        onValue={(from) => go({ from }, true)}
      />
    </div>
  );
}

/** Events as they come; a pause holds the list still, and loses nothing. */
export default function Events() {
  const tail = useTail();
  const now = tail.state.value;
  const [paused, setPaused] = useState(false);
  const kept = useRef(now);
  if (!paused) kept.current = now;
  const shown = kept.current;
  const waits = now.events.length + now.gone - shown.events.length - shown.gone;
  return (
    <>
      <PageTitle name={shell("page.events")}>
        <State tailed={now} waits={paused ? waits : undefined} />
        <Button
          small
          pressed={paused}
          icon={paused ? "play" : "pause"}
          onPress={() => setPaused(!paused)}
        >
          {t(paused ? "go" : "pause")}
        </Button>
      </PageTitle>
      <Filter />
      {now.error && (
        <ErrorCard error={now.error} onRetry={() => tail.again()}>
          {now.error.status === 410 && <p>{t("gone.410")}</p>}
        </ErrorCard>
      )}
      {shown.state === "connecting" && <Skeleton />}
      {shown.events.length === 0 && shown.state === "live" && (
        <EmptyState title={t("none")}>{t("none.why")}</EmptyState>
      )}
      {shown.events.length > 0 && (
        <Card>
          <ul class="plain">
            {shown.events.map((event) => (
              <Row key={event.cursor} event={event} />
            ))}
          </ul>
          {shown.gone > 0 && <p class="quiet">{t("gone", { n: shown.gone })}</p>}
        </Card>
      )}
    </>
  );
}
