import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { CopyButton } from "@crab/web-shared/copy-button";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Spoken } from "@crab/web-shared/live";
import { SafeText } from "@crab/web-shared/safe-text";
import { count } from "@crab/web-shared/words";

import type { ApiError } from "../api";
import { api } from "../store";
import { t } from "./texts";

interface AuditCheck {
  readonly intact: boolean;
  readonly records: number;
  readonly batches: number;
  readonly head_hash: string;
  readonly problem?: string;
}

function Found({ check }: { readonly check: AuditCheck }) {
  const { records, batches, head_hash: head, problem } = check;
  return (
    <div class="stack">
      {check.intact ? (
        <Spoken>
          {t("intact", { records: t("found", { n: records }), batches: count(batches) })}
        </Spoken>
      ) : (
        <Spoken class="notice bad">
          <strong>{t("broken")}</strong> <SafeText text={problem ?? ""} />
        </Spoken>
      )}
      {head && (
        <p class="row">
          {t("head")}: <code>
            <SafeText text={head} />
          </code> <CopyButton text={head} />
        </p>
      )}
      {head && <p class="quiet">{t("head.why")}</p>}
    </div>
  );
}

/** Whether any record was changed or cut out, by the chain of digests. */
export function Verify() {
  const [check, setCheck] = useState<AuditCheck>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const verify = async () => {
    setBusy(true);
    setError(undefined);
    setCheck(undefined);
    try {
      const answer = await api.open("/v1/admin/audit/verify", { method: "POST", body: {} });
      setCheck((await answer.json()) as AuditCheck);
    } catch (failure) {
      setError(failure as ApiError);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card
      title={t("verify")}
      actions={
        <Button small busy={busy} onPress={() => void verify()}>
          {t("verify.now")}
        </Button>
      }
    >
      {!check && !busy && <p class="quiet">{t("verify.what")}</p>}
      {busy && <progress aria-label={t("verifying")} />}
      {error && <ErrorCard error={error} onRetry={() => void verify()} />}
      {check && <Found check={check} />}
    </Card>
  );
}
