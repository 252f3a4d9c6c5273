import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { Button } from "./button";
import { announce } from "./live";
import { SafeText } from "./safe-text";
import { t } from "./strings/kit";
import "./toast.css";

interface Toast {
  readonly text: string;
  readonly undo?: () => void;
  /** Instead of undo: something else to do about it, by its name. */
  readonly action?: { readonly name: string; readonly run: () => void };
  /** Milliseconds until it goes by itself; Infinity: it does not. */
  readonly stays?: number;
}

interface Shown extends Toast {
  readonly id: number;
  readonly until: number;
}

const WORDS_MS = 6_000;
const WITH_UNDO_MS = 20_000; // to be found and reached by keyboard
const MOST = 3;

const shown = signal<readonly Shown[]>([]);
let last = 0;

const gone = (id: number) => {
  shown.value = shown.value.filter((one) => one.id !== id);
};

/** Says what was done, and offers to take it back if it can be. Call the answer to end it. */
export function toast(what: Toast): () => void {
  const id = ++last;
  const { undo, action } = what;
  const stays = what.stays ?? (undo || action ? WITH_UNDO_MS : WORDS_MS);
  shown.value = [...shown.value, { ...what, id, until: Date.now() + stays }].slice(-MOST);
  announce(what.text);
  return () => gone(id);
}

function Row({ one }: { readonly one: Shown }) {
  useEffect(() => {
    if (one.until === Infinity) return undefined;
    const timer = setTimeout(() => gone(one.id), one.until - Date.now());
    return () => clearTimeout(timer);
  }, [one]);
  const act = (run: () => void) => () => {
    gone(one.id);
    run();
  };
  return (
    <div class="toast">
      <span>
        <SafeText text={one.text} />
      </span>
      {one.undo && (
        <Button small onPress={act(one.undo)}>
          {t("undo")}
        </Button>
      )}
      {one.action && (
        <Button small onPress={act(one.action.run)}>
          {one.action.name}
        </Button>
      )}
      <Button small kind="bare" icon="cross" label={t("dismiss")} onPress={() => gone(one.id)} />
    </div>
  );
}

/** Where toasts stand; once in a page. */
export function Toasts() {
  return (
    <section class="toasts" aria-label={shown.value.length > 0 ? t("toasts") : undefined}>
      {shown.value.map((one) => (
        <Row key={one.id} one={one} />
      ))}
    </section>
  );
}
