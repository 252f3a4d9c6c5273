import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Mark } from "@crab/web-shared/mark";
import { SafeText } from "@crab/web-shared/safe-text";

import type { ApiError } from "../api";
import { canHavePasskeys } from "../passkeys/can";
import { enter, enterByKey, enterByPasskey, pairAndEnter } from "../store";
import { t } from "../strings/shell";
import "./sign-in.css";

interface Props {
  readonly error?: ApiError | undefined;
  /** Over a page whose session has ended. */
  readonly over?: boolean;
}

/** `crab console` is at this address and no other; a gateway may be there too. */
const atHome = location.hostname === "127.0.0.1" && location.protocol === "http:";

/** Browsers give pages keys at secure addresses only. */
const canHaveKey = globalThis.crypto?.subtle !== undefined;
const CODE = /^\d{4}[- ]?\d{4}[- ]?\d{4}$/;

/**
 * For the public listener (`listen.console`): this browser's key, a pairing code that gives it one,
 * or a token, which is exchanged and kept nowhere.
 */
function OtherWays() {
  const [busy, setBusy] = useState(false);
  const [known, setKnown] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!canHaveKey) return;
    void import("../browser-key").then(({ hasKey }) => hasKey().then(setKnown, () => undefined));
  }, []);
  const wanted = t(canHaveKey ? "signin.code" : "signin.token");
  const during = async (work: Promise<void>) => {
    setBusy(true);
    await work;
    setBusy(false);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? "";
    if (text === "" || busy) return;
    if (field.current) field.current.value = "";
    void during(CODE.test(text) && canHaveKey ? pairAndEnter(text) : enter({ token: text }));
  };
  return (
    <>
      {known && (
        <Button kind="primary" busy={busy} onPress={() => void during(enterByKey())}>
          {t("signin.key")}
        </Button>
      )}
      {canHavePasskeys && (
        <Button busy={busy} onPress={() => void during(enterByPasskey())}>
          {t("signin.passkey")}
        </Button>
      )}
      <form class="sign-in-form" onSubmit={submit}>
        <label>
          {atHome ? t("signin.home.other", { field: wanted }) : wanted}
          <input
            ref={field}
            class="input"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
          />
        </label>
        <button type="submit" class={`button ${known ? "plain" : "primary"}`} disabled={busy}>
          {t("signin")}
        </button>
      </form>
      {!atHome && (
        <p class="quiet">
          {t("signin.make")} <code>crab devices pair --console --name me</code>{" "}
          {t("signin.make.why")}
        </p>
      )}
    </>
  );
}

/** How to get in, and why the last try did not. */
export function SignIn({ error, over = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (over) dialog.current?.showModal();
  }, [over]);
  const card = (
    <div class="sign-in-card">
      <Mark size={56} />
      <h1>{t(over ? "signin.over" : "signin")}</h1>
      {error && (
        <p class="notice bad" role="alert">
          <SafeText text={error.message} /> <code>
              <SafeText text={error.code} most={60} />
            </code>
          {error.next && <SafeText text={error.next} />}
        </p>
      )}
      {atHome && (
        <>
          <p>{t("signin.home")}</p>
          <pre>crab console</pre>
        </>
      )}
      <OtherWays />
      {over && <p class="quiet">{t("signin.behind")}</p>}
      {error?.status === 0 && (
        <Button kind="primary" onPress={() => void enter(undefined)}>
          {t("signin.again")}
        </Button>
      )}
    </div>
  );
  if (!over) return <main class="sign-in">{card}</main>;
  return (
    <dialog ref={dialog} class="sign-in-over" onCancel={(event) => event.preventDefault()}>
      {card}
    </dialog>
  );
}
