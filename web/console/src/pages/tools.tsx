import { useEffect, useMemo, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Choice, TextField } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { Skeleton } from "@crab/web-shared/skeleton";
import { shortName } from "@crab/web-shared/words";

import { Link } from "../link";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api, who } from "../store";
import { t as page } from "../strings/shell";
import { type ToolPage, ToolPages, type ToolRow } from "../tool-pages";
import { VirtualTable } from "../virtual-table";
import { Diagnose } from "./diagnose";
import { OneTool } from "./one-tool";
import "./tools.css";
import { t } from "./tools.texts";

const TYPING_MS = 200;
const STATES = ["offered", "held_back", "ambiguous", "rejected"] as const;
const EFFECTS = new Set(["none", "declared", "unknown"]);

const member = (name: string) => place.value.get(name) ?? "";

/** A state in words; one that this page does not know, as it came. */
export function StateBadge({ tool }: { readonly tool: ToolRow }) {
  const known = STATES.find((state) => state === tool.state);
  if (known === "offered") {
    const effects = tool.effects && EFFECTS.has(tool.effects) ? tool.effects : "unknown";
    return <>{t(`effects.${effects as "none" | "declared" | "unknown"}`)}</>;
  }
  return (
    <Pill tone={tool.state === "rejected" ? "bad" : "warn"}>
      {known ? t(`state.${known}`) : <SafeText text={shortName(tool.state)} />}
    </Pill>
  );
}

/** The cells of a tool. */
function cells(tool: ToolRow) {
  return (
    <>
      <td>
        <span class="tool-name">
          <Link to={{ tool: tool.qualified_name || tool.name }}>
            <SafeText text={shortName(tool.name)} />
          </Link>
        </span>
        <div class="tool-brief">
          <SafeText text={shortName(tool.reason || tool.brief || tool.title || "")} />
        </div>
      </td>
      <td class="quiet tool-source">
        <SafeText text={shortName(tool.source)} />
      </td>
      <td class="tool-badges">
        <StateBadge tool={tool} />
      </td>
      <td class="quiet tool-tokens">
        {tool.tokens === undefined ? "" : t("tokens.short", { n: tool.tokens })}
      </td>
    </>
  );
}

function Table({ pages, total }: { readonly pages: ToolPages; readonly total: number }) {
  const want = useMemo(
    () => (first: number, end: number) => void pages.want(first, end),
    [pages],
  );
  const columns = [
    { name: t("name") },
    { name: t("source"), style: "tool-source" },
    { name: t("state"), style: "tool-badges" },
    { name: t("tokens"), style: "tool-tokens" },
  ];
  return (
    <VirtualTable
      label={t("count", { n: total })}
      columns={columns}
      total={total}
      list={pages}
      onWindow={want}
      row={(index) => {
        const tool = pages.row(index);
        return tool && cells(tool);
      }}
    />
  );
}

/** The list for what the address says, a moment after the last key. */
function usePages(): ToolPages | undefined {
  const [q, source, state] = [member("q"), member("source"), member("state")];
  const signedIn = who.value.state === "in";
  const [pages, setPages] = useState<ToolPages>();
  const make = useMemo(
    () => () => new ToolPages({ q, source, state }, (path) => api.get<ToolPage>(path)),
    [q, source, state],
  );
  useEffect(() => {
    if (!signedIn) return undefined;
    const next = make();
    const timer = setTimeout(() => {
      setPages(next);
      void next.want(0, 1);
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      next.end();
    };
  }, [make, signedIn]);
  return pages;
}

function Filter({ onWhy }: { readonly onWhy: () => void }) {
  const set = (name: string) => (value: string) => go({ [name]: value }, true);
  return (
    <div class="tool-filter" role="search">
      <TextField type="search" label={t("search")} value={member("q")} onValue={set("q")} most={200} />
      <TextField label={t("source")} value={member("source")} onValue={set("source")} most={200} />
      <Choice
        label={t("state")}
        value={member("state")}
        onValue={set("state")}
        options={[
          { value: "", label: t("all") },
          ...STATES.map((value) => ({ value, label: t(`state.${value}`) })),
        ]}
      />
      <Button onPress={onWhy}>{t("why.open")}</Button>
    </div>
  );
}

function NoTool() {
  const filtered = member("q") + member("source") + member("state") !== "";
  return filtered ? (
    <EmptyState title={t("empty")}>{t("empty.drop")}</EmptyState>
  ) : (
    <EmptyState title={t("empty.none")}>{t("empty.why")}</EmptyState>
  );
}

function ToolList() {
  const pages = usePages();
  const [why, setWhy] = useState(false);
  const { total, error } = pages?.state.value ?? {};
  return (
    <>
      <PageTitle name={page("page.tools")} />
      <Filter onWhy={() => setWhy(true)} />
      {error && error.status !== 401 && (
        <ErrorCard error={error} onRetry={() => void pages?.retry()} />
      )}
      {total === undefined && !error && <Skeleton />}
      {pages && total === 0 && <NoTool />}
      {pages && total !== undefined && total > 0 && (
        <Card old={error !== undefined}>
          <Spoken class="quiet">{t("count", { n: total })}</Spoken>
          <Table pages={pages} total={total} />
        </Card>
      )}
      {why && <Diagnose onClose={() => setWhy(false)} />}
    </>
  );
}

export default function Tools() {
  const tool = member("tool");
  return tool === "" ? <ToolList /> : <OneTool key={tool} name={tool} />;
}
