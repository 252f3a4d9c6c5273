import { useEffect, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { EmptyState } from "@crab/web-shared/empty-state";
import { ErrorCard } from "@crab/web-shared/error-card";
import { TextField } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { SafeText } from "@crab/web-shared/safe-text";
import { Skeleton } from "@crab/web-shared/skeleton";
import { shortName } from "@crab/web-shared/words";

import type { ApiError } from "../api";
import { Link } from "../link";
import { go, place } from "../place";
import { api } from "../store";
import { VirtualTable } from "../virtual-table";
import { usePrincipals } from "./principals";
import type { MatrixPage, Verdict } from "./shapes";
import { t } from "./texts";
import { VerdictPill } from "./trace-view";

const PAGE_ROWS = 1_000;
const MOST_ROWS = 20_000;

interface Read {
  readonly rows: readonly Verdict[];
  readonly cursor?: string | undefined;
  readonly error?: ApiError;
  readonly done?: boolean;
}

/** The rows of a principal, page after page until there are enough for anybody to look at. */
function useMatrix(as: string): [Read, () => void] {
  const [read, setRead] = useState<Read>({ rows: [] });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (as === "") return undefined;
    let over = false;
    const follow = async () => {
      let rows: readonly Verdict[] = [];
      let cursor: string | undefined;
      do {
        const query = new URLSearchParams({ as, limit: String(PAGE_ROWS) });
        if (cursor !== undefined) query.set("cursor", cursor);
        const page = await api.get<MatrixPage>(`/v1/admin/policy/matrix?${query}`);
        if (over) return;
        rows = [...rows, ...page.tools];
        cursor = page.cursor;
        setRead({ rows, cursor, done: cursor === undefined });
      } while (cursor !== undefined && rows.length < MOST_ROWS);
      setRead({ rows, cursor, done: true });
    };
    setRead({ rows: [] });
    follow().catch((error: ApiError) => {
      if (!over) setRead({ rows: [], error });
    });
    return () => {
      over = true;
    };
  }, [as, round]);
  return [read, () => setRound(round + 1)];
}

function Rows({ as, rows }: { readonly as: string; readonly rows: readonly Verdict[] }) {
  const columns = [{ name: t("tool") }, { name: t("verdict"), style: "matrix-verdict" }];
  return (
    <VirtualTable
      label={t("matrix.of", { who: as })}
      columns={columns}
      total={rows.length}
      list={as}
      row={(index) => {
        const one = rows[index];
        return (
          one && (
            <>
              <td>
                <Link to={{ tab: "", as, tool: one.name }}>
                  <SafeText text={shortName(one.name)} />
                </Link>
                <div class="quiet">
                  <SafeText text={shortName(one.rule)} />
                </div>
              </td>
              <td class="matrix-verdict">
                <VerdictPill verdict={one.verdict} />
                {one.depends_on_arguments && <div class="quiet">{t("matrix.depends")}</div>}
              </td>
            </>
          )
        );
      }}
    />
  );
}

/** What may X do: each tool with its verdict and the rule that decides. */
export function Matrix() {
  const as = place.value.get("as") ?? "";
  const [typed, type] = useState(as);
  const names = usePrincipals();
  const [{ rows, error, done }, again] = useMatrix(as);
  return (
    <div class="stack">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          go({ as: typed });
        }}
      >
        <TextField
          label={t("as")}
          hint={t("as.hint")}
          value={typed}
          suggestions={names}
          most={200}
          onValue={type}
        />
        <Button kind="primary" off={typed === ""} onPress={() => go({ as: typed })}>
          {t("ask")}
        </Button>
      </form>
      {error && <ErrorCard error={error} onRetry={again} />}
      {as !== "" && !error && rows.length === 0 && !done && <Skeleton />}
      {done && rows.length === 0 && <EmptyState title={t("matrix.none")} />}
      {rows.length > 0 && (
        <Card>
          <Spoken class="quiet">{t("matrix.shown", { n: rows.length })}</Spoken>
          <Rows as={as} rows={rows} />
        </Card>
      )}
    </div>
  );
}
