import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Confirm } from "@crab/web-shared/dialog";

import { useDoing } from "../doing";
import { api, mayWrite } from "../store";
import { t } from "./texts";

interface Props {
  /** What the gateway revokes: a device, or one token. */
  readonly what: { readonly device: string } | { readonly token_id: string };
  readonly name: string;
  /** Credentials that end with it. */
  readonly ends: number;
  readonly small?: boolean;
  readonly again: () => void;
}

/** Two taps, and the second says what ends. */
export function Revoke({ what, name, ends, small = false, again }: Props) {
  const [asked, ask] = useState(false);
  const [busy, run] = useDoing(() => {
    ask(false);
    again();
  });
  const yes = () =>
    void run(api.post("/v1/admin/devices/revoke", what), t("revoke.done", { name }));
  return (
    <>
      <Button
        small={small}
        kind="danger"
        off={!mayWrite.value}
        label={"token_id" in what ? t("revoke.token", { id: what.token_id }) : undefined}
        onPress={() => ask(true)}
      >
        {t("revoke")}
      </Button>
      {asked && (
        <Confirm
          title={t("revoke.sure", { name })}
          action={t("revoke")}
          busy={busy}
          onYes={yes}
          onNo={() => ask(false)}
        >
          <p>{ends > 0 ? t("revoke.what", { n: ends }) : t("revoke.nothing")}</p>
        </Confirm>
      )}
    </>
  );
}
