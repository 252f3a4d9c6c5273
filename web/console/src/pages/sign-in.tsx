import { useEffect, useRef } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Mark } from "@crab/web-shared/mark";
import { SafeText } from "@crab/web-shared/safe-text";

import type { ApiError } from "../api";
import { enter } from "../store";
import "./sign-in.css";

interface Props {
  readonly error?: ApiError | undefined;
  /** Over a page whose session has ended. */
  readonly over?: boolean;
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
      <p>
        Run this where the gateway runs, and open the link that it prints. It works once, within a
        minute.
      </p>
      <pre>crab console</pre>
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
