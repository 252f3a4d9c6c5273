import { useEffect, useMemo, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Spoken } from "@crab/web-shared/live";
import { now } from "@crab/web-shared/now";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { Skeleton } from "@crab/web-shared/skeleton";
import { moment, shortName } from "@crab/web-shared/words";

import "../audit/audit.css";
import { Export } from "../audit/export";
import { Histogram } from "../audit/histogram";
import { AUDIT_FIELDS, queryOf } from "../audit/query";
import { CallDrawer, RecordDrawer } from "../audit/record";
import {
  type AuditFound,
  type AuditRecord,
  AuditSearch,
  isBad,
  MOST_RECORDS,
  type Searched,
} from "../audit/search";
import { t } from "../audit/texts";
import { Verify } from "../audit/verify";
import { FilterBar } from "../filter-bar";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api, who } from "../store";
import { t as shell } from "../strings/shell";
import { VirtualTable } from "../virtual-table";

const TYPING_MS = 400;
const HINT = "from:7d status:error tool:disk*";

/** The search for what the address says, a moment after the last key. */
function useSearch(filter: string): AuditSearch {
  const search = useMemo(() => new AuditSearch((path) => api.get<AuditFound>(path)), []);
  const signedIn = who.value.state === "in";
  useEffect(() => {
    if (!signedIn) return undefined;
    const timer = setTimeout(() => void search.start(queryOf(filter, now())), TYPING_MS);
    return () => {
      clearTimeout(timer);
      search.end();
    };
  }, [search, filter, signedIn]);
  return search;
}

function cells(record: AuditRecord, onOpen: () => void) {
  const time = record.time ? moment(record.time) : "";
  const outcome = record.code || record.status || record.decision || "";
  return (
    <>
      <td class="quiet audit-when">{time}</td>
      <td>
        <button type="button" class="more" onClick={onOpen}>
          <SafeText text={shortName(record.tool ?? record.event ?? "?")} />
        </button>
        <div class="quiet">
          <span class="narrow">{time} </span>
          <SafeText text={shortName(record.agent || record.principal || record.by || "")} />
        </div>
      </td>
      <td class="audit-outcome">
        {outcome && (
          <Pill tone={isBad(record) ? "bad" : record.status === "ok" ? "good" : "plain"}>
            <SafeText text={shortName(outcome)} />
          </Pill>
        )}
      </td>
    </>
  );
}

function Rows(props: { readonly found: Searched; readonly onOpen: (record: AuditRecord) => void }) {
  const { records } = props.found;
  const columns = [
    { name: t("when"), style: "audit-when" },
    { name: t("changed") },
    { name: t("outcome"), style: "audit-outcome" },
  ];
  return (
    <VirtualTable
      label={t("found", { n: records.length })}
      columns={columns}
      total={records.length}
      row={(index) => {
        const record = records[index];
        return record && cells(record, () => props.onOpen(record));
      }}
    />
  );
}

/** How far the search is, and the way on. */
function Progress({ found, search }: { readonly found: Searched; readonly search: AuditSearch }) {
  const full = found.records.length >= MOST_RECORDS;
  return (
    <div class="row">
      <Spoken as="span" class="quiet" busy={found.busy}>
        {[
          t("found", { n: found.records.length }),
          found.scannedTo && t("scanned", { when: moment(found.scannedTo) }),
          found.busy && t("searching"),
          found.complete && t("all"),
          full && t("most", { n: MOST_RECORDS }),
        ]
          .filter(Boolean)
          .join(" | ")}
      </Spoken>
      {!found.complete && !full && (
        <Button small busy={found.busy} onPress={() => void search.more()}>
          {t("more")}
        </Button>
      )}
    </div>
  );
}

export default function Audit() {
  const filter = place.value.get("filter") ?? "";
  const search = useSearch(filter);
  const found = search.state.value;
  const [event, setEvent] = useState<AuditRecord>();
  const id = place.value.get("call") ?? "";
  const call = found.records.find(({ call_id }) => id !== "" && call_id === id);
  const open = (record: AuditRecord) => {
    setEvent(record.call_id === undefined ? record : undefined);
    go({ call: record.call_id ?? "" });
  };
  const close = () => {
    setEvent(undefined);
    go({ call: "" });
  };
  const empty = found.complete && found.records.length === 0;
  const shown = event ?? call;
  return (
    <>
      <PageTitle name={shell("page.audit")}>
        <Export query={queryOf(filter, now())} />
      </PageTitle>
      <FilterBar label={t("filter")} hint={HINT} fields={AUDIT_FIELDS} />
      <div class="stack">
        {found.error && found.error.status !== 401 && (
          <ErrorCard error={found.error} onRetry={() => void search.more()} />
        )}
        {found.records.length === 0 && !found.complete && !found.error && <Skeleton size="card" />}
        {empty && <EmptyState title={t("none")}>{t("none.drop")}</EmptyState>}
        {found.records.length > 0 && (
          <Card>
            <Histogram records={found.records} />
            <Progress found={found} search={search} />
            <Rows found={found} onOpen={open} />
          </Card>
        )}
        <Verify />
      </div>
      {shown && <RecordDrawer key={shown.call_id ?? shown.time} record={shown} onClose={close} />}
      {id !== "" && !shown && <CallDrawer key={id} id={id} onClose={close} />}
    </>
  );
}
