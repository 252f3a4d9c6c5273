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
}

interface Shown extends Toast {
  readonly id: number;
}

const WORDS_MS = 6_000;
const WITH_UNDO_MS = 20_000; // to be found and reached by keyboard
const MOST = 3;

const shown = signal<readonly Shown[]>([]);
let last = 0;

const gone = (id: number) => {
  shown.value = shown.value.filter((one) => one.id !== id);
};

/** Says what was done, and offers to take it back if it can be. */
export function toast(what: Toast): void {
  shown.value = [...shown.value, { ...what, id: ++last }].slice(-MOST);
  announce(what.text);
}

function Row({ one }: { readonly one: Shown }) {
  useEffect(() => {
    const timer = setTimeout(() => gone(one.id), one.undo ? WITH_UNDO_MS : WORDS_MS);
    return () => clearTimeout(timer);
  }, [one]);
  const undo = () => {
    gone(one.id);
    one.undo?.();
  };
  return (
    <div class="toast">
      <span>
        <SafeText text={one.text} />
      </span>
      {one.undo && (
        <Button small onPress={undo}>
          {t("undo")}
        </Button>
      )}
      <Button small kind="bare" icon="cross" label={t("dismiss")} onPress={() => gone(one.id)} />
    </div>
  );
}

/** Where toasts stand; once in a page. */
export function Toasts() {
  return (
    <div class="toasts">
      {shown.value.map((one) => (
        <Row key={one.id} one={one} />
      ))}
    </div>
  );
}
