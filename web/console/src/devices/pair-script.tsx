import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { CopyButton } from "@crab/web-shared/copy-button";
import { ErrorCard } from "@crab/web-shared/error-card";
import { TextField } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { SafeText } from "@crab/web-shared/safe-text";

import type { ApiError } from "../api";
import { api } from "../store";
import type { Pairing } from "./shapes";
import { t } from "./texts";

/** A token of a script, shown once; it is gone from this page when the dialog closes. */
export function PairScript({ onMade }: { readonly onMade: () => void }) {
  const [name, setName] = useState("");
  const [made, setMade] = useState<Pairing>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const make = () => {
    setBusy(true);
    setError(undefined);
    api
      .post<Pairing>("/v1/admin/devices/pair", { name, roles: ["caller"], token: true })
      .then((answer) => {
        setMade(answer);
        onMade();
      }, setError)
      .finally(() => setBusy(false));
  };
  if (made?.token)
    return (
      <div class="stack">
        <Spoken>{t("pair.script.kept")}</Spoken>
        <pre class="pair-command">
          <SafeText text={made.token} most={Infinity} />
        </pre>
        <div class="row">
          <CopyButton text={made.token} />
        </div>
      </div>
    );
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (name !== "") make();
      }}
    >
      <p>{t("pair.script.how")}</p>
      <TextField label={t("name")} hint={t("name.hint")} value={name} onValue={setName} most={64} />
      {error && <ErrorCard error={error} onRetry={make} />}
      <div class="row">
        <Button kind="primary" busy={busy} off={name === ""} onPress={make}>
          {t("pair.token")}
        </Button>
      </div>
    </form>
  );
}
