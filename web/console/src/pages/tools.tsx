import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Card } from "@crab/web-shared/card";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api, who } from "../store";
import { t } from "../strings/shell";
import { rowsAt, ToolPages } from "../tool-pages";
import type { ToolPage, ToolRow } from "../tool-pages";
import { count, shortName } from "@crab/web-shared/words";
import "@crab/web-shared/field.css";
import "./tools.css";

/** The height of `.tools tr` in the style sheet. */
const ROW_PX = 56;
const FIRST_WINDOW_PX = 800;
const TYPING_MS = 200;
const OPEN = new Set(["ready", "callable", "ok"]);

const member = (name: string) => place.value.get(name) ?? "";

function Field({ name, hint }: { readonly name: string; readonly hint: string }) {
  return (
    <label>
      <span class="unseen-caption">{hint}</span>
      <input
        class="input"
        type="search"
        value={member(name)}
        maxLength={200}
        placeholder={hint}
        onInput={(event) => go({ [name]: event.currentTarget.value }, true)}
      />
    </label>
  );
}

function Row({ tool, index }: { readonly tool: ToolRow | undefined; readonly index: number }) {
  if (!tool)
    return (
      <tr aria-rowindex={index + 1}>
        <td class="quiet" colSpan={4}>
          …
        </td>
      </tr>
    );
  return (
    <tr aria-rowindex={index + 1}>
      <td>
        <SafeText text={shortName(tool.name)} />
        <div class="brief quiet">
          <SafeText text={shortName(tool.reason || tool.brief || tool.title || "")} />
        </div>
      </td>
      <td class="quiet wide">
        <SafeText text={shortName(tool.source)} />
      </td>
      <td class="badges">
        {OPEN.has(tool.state) ? (
          <SafeText text={shortName(tool.effects ?? "")} />
        ) : (
          <Pill tone="bad">
            <SafeText text={shortName(tool.state)} />
          </Pill>
        )}
      </td>
      <td class="number quiet tokens">
        {tool.tokens === undefined ? "" : `${count(tool.tokens)} tok`}
      </td>
    </tr>
  );
}

/** The height of rows that are not in the document. The first one also sets the columns' widths. */
function Space({ rows }: { readonly rows: number }) {
  return (
    <tr class="space" aria-hidden="true">
      <td style={{ height: rows * ROW_PX }} />
      <td class="wide" />
      <td class="badges" />
      <td class="tokens" />
    </tr>
  );
}

/** Only the rows around the window are in the document; two empty rows keep the bar's length. */
function Table({ pages, total }: { readonly pages: ToolPages; readonly total: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState({ top: 0, height: FIRST_WINDOW_PX });
  const { first, end } = rowsAt(at.top, at.height, ROW_PX, total);
  useEffect(() => void pages.want(first, end), [pages, first, end]);
  useEffect(() => box.current?.scrollTo(0, 0), [pages]);
  const moved = () => {
    if (box.current) setAt({ top: box.current.scrollTop, height: box.current.clientHeight });
  };
  const indexes = Array.from({ length: end - first }, (_, offset) => first + offset);
  return (
    <div class="tools" ref={box} onScroll={moved} tabIndex={0} role="region" aria-label="Tools">
      <table aria-rowcount={total}>
        <tbody>
          <Space rows={first} />
          {indexes.map((index) => (
            <Row key={index} index={index} tool={pages.row(index)} />
          ))}
          <Space rows={total - end} />
        </tbody>
      </table>
    </div>
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

export default function Tools() {
  const pages = usePages();
  const { total, error } = pages?.state.value ?? {};
  return (
    <>
      <PageTitle name={t("page.tools")} />
      <div class="filter tool-filter">
        <Field name="q" hint="Search tools" />
        <Field name="source" hint="Source" />
        <Field name="state" hint="State" />
      </div>
      {error && error.status !== 401 && (
        <p class="notice bad" role="status">
          <SafeText text={error.message} /> <code>{error.code}</code>{" "}
          <button type="button" class="button plain small" onClick={() => void pages?.retry()}>
            Try again
          </button>
        </p>
      )}
      {total === undefined && !error && <div class="skeleton" aria-busy="true" />}
      {pages && total !== undefined && (
        <Card old={error !== undefined}>
          <p class="quiet" role="status">
            {total === 0 ? "No tool fits." : `${count(total)} tools`}
          </p>
          <Table pages={pages} total={total} />
        </Card>
      )}
    </>
  );
}
