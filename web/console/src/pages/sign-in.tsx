import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Mark } from "@crab/web-shared/mark";
import { SafeText } from "@crab/web-shared/safe-text";

import type { ApiError } from "../api";
import { canHavePasskeys } from "../passkeys/can";
import { enter, enterByKey, enterByPasskey, pairAndEnter } from "../store";
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
          Sign in with this browser's key
        </Button>
      )}
      {canHavePasskeys && (
        <Button busy={busy} onPress={() => void during(enterByPasskey())}>
          Sign in with a passkey
        </Button>
      )}
      <form class="sign-in-form" onSubmit={submit}>
        <label>
          {atHome ? "Or, if this is the gateway itself: " : ""}
          {canHaveKey ? "pairing code or token" : "token"}
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
          Sign in
        </button>
      </form>
      {!atHome && (
        <p class="quiet">
          An operator makes a code where the gateway runs:{" "}
          <code>crab devices pair --console --name me</code>. It gives this browser a key of
          its own. A token is not kept here, and allows less.
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
      <h1>{over ? "Your session has ended" : "Sign in"}</h1>
      {error && (
        <p class="notice bad" role="alert">
          <SafeText text={error.message} /> <code>{error.code}</code>
          {error.next && <SafeText text={error.next} />}
        </p>
      )}
      {atHome && (
        <>
          <p>
            Run this where the gateway runs, and open the link that it prints. It works once, within
            a minute.
          </p>
          <pre>crab console</pre>
        </>
      )}
      <OtherWays />
      {over && <p class="quiet">What you see behind this card stays until then.</p>}
      {error?.status === 0 && (
        <Button kind="primary" onPress={() => void enter(undefined)}>
          Try again
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
