import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Confirm } from "@crab/web-shared/dialog";
import { TextField } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { moment } from "@crab/web-shared/words";

import type { Passkey } from "../api";
import { useDoing } from "../doing";
import { Loaded, usePoll } from "../loaded";
import { api } from "../store";
import { t } from "./texts";

const EVERY_MS = 60_000;

/** Makes one, unless the person must prove first who they are, and cannot. */
async function addPasskey(label: string): Promise<void> {
  let challenge = await api.passkeyChallenge();
  if (challenge.proven === false) {
    if (!(await api.onKeyNeeded())) throw new Error(t("need.key"));
    challenge = await api.passkeyChallenge();
  }
  const { makePasskey } = await import("./webauthn");
  const made = await makePasskey(challenge, label).catch((error: unknown) => {
    const known = error instanceof DOMException && error.name === "InvalidStateError";
    throw new Error(t(known ? "known" : "cancelled"));
  });
  await api.addPasskey(made);
}

export function PasskeyRow({
  passkey,
  again,
}: {
  readonly passkey: Passkey;
  readonly again: () => void;
}) {
  const [asked, ask] = useState(false);
  const [busy, run] = useDoing(() => {
    ask(false);
    again();
  });
  const name = passkey.label;
  const used = passkey.last_used_at
    ? t("used.at", { when: moment(passkey.last_used_at) })
    : t("used.never");
  return (
    <li class="row">
      <span>
        <SafeText text={name} most={80} />{" "}
        <span class="quiet">
          {t("added.at", { when: moment(passkey.created_at) })}, {used}
        </span>
      </span>
      <Button small kind="danger" label={t("remove.of", { name })} onPress={() => ask(true)}>
        {t("remove")}
      </Button>
      {asked && (
        <Confirm
          title={t("remove.sure", { name })}
          action={t("remove")}
          busy={busy}
          onYes={() => void run(api.removePasskey(passkey.key_id), t("removed", { name }))}
          onNo={() => ask(false)}
        >
          <p>{t("remove.what")}</p>
        </Confirm>
      )}
    </li>
  );
}

/** The passkeys of whoever is signed in, and one more. */
export default function Passkeys() {
  const poll = usePoll(() => api.passkeys(), EVERY_MS);
  const again = () => void poll.again();
  const [busy, run] = useDoing(again);
  const [label, setLabel] = useState(t("name.default"));
  const add = () => void run(addPasskey(label), t("added", { name: label }));
  return (
    <section aria-labelledby="passkeys" class="stack">
      <h3 id="passkeys">{t("passkeys")}</h3>
      <p class="quiet">{t("about")}</p>
      <Loaded poll={poll}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <p>{t("none")}</p>
          ) : (
            <ul class="plain">
              {passkeys.map((passkey) => (
                <PasskeyRow key={passkey.key_id} passkey={passkey} again={again} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <TextField label={t("name")} value={label} onValue={setLabel} most={60} />
      <div class="row">
        <Button busy={busy} off={label.trim() === ""} onPress={add}>
          {t("add")}
        </Button>
      </div>
    </section>
  );
}
