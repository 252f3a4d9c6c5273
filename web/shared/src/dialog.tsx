import { signal } from "@preact/signals";
import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useId, useMemo, useRef } from "preact/hooks";

import { Button } from "./button";
import "./dialog.css";
import { Guard } from "./error-card";
import { t } from "./strings/kit";

interface Props {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  /** The person closes it: by the cross, by Escape. Without it the dialog cannot be closed. */
  readonly onClose?: (() => void) | undefined;
  readonly wide?: boolean;
  /** Escape closes it, but no cross is drawn: one of its own buttons says the same. */
  readonly noCross?: boolean;
  /** A class of the page's own beside `dialog`. */
  readonly look?: string;
}

/** Dialogs that are open or wait for the one before; only the first is seen. */
const queue = signal<readonly symbol[]>([]);
const Inside = createContext(false);

/** Gives the focus back to what had it, if that is still there. */
export const focusBack = (to: Element | null) => {
  if (to instanceof HTMLElement && to.isConnected) to.focus();
};

/**
 * A modal dialog, shown for as long as it is drawn. Of several only one is open, the others follow
 * in their order; one within another opens over it. The focus goes to its title and back.
 */
export function Dialog(props: Props) {
  const { title, children, onClose, wide = false, noCross = false, look } = props;
  const me = useMemo(() => Symbol("dialog"), []);
  const nested = useContext(Inside);
  const box = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  const open = nested || queue.value[0] === me;
  useEffect(() => {
    if (nested) return undefined;
    queue.value = [...queue.value, me];
    return () => {
      queue.value = queue.value.filter((other) => other !== me);
    };
  }, [me, nested]);
  useEffect(() => {
    const dialog = box.current;
    if (!open || !dialog) return undefined;
    const before = document.activeElement;
    dialog.showModal();
    heading.current?.focus();
    return () => {
      dialog.close();
      focusBack(before);
    };
  }, [open]);
  return (
    <dialog
      ref={box}
      class={["dialog", wide && "wide", look].filter(Boolean).join(" ")}
      aria-labelledby={id}
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return; // a file chooser's
        event.preventDefault();
        onClose?.();
      }}
    >
      {open && (
        <Inside.Provider value={true}>
          <div class="dialog-head">
            <h2 id={id} ref={heading} tabIndex={-1}>
              {title}
            </h2>
            {onClose && !noCross && (
              <Button small kind="bare" icon="cross" label={t("close")} onPress={onClose} />
            )}
          </div>
          <Guard>{children}</Guard>
        </Inside.Provider>
      )}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: ComponentChildren;
  /** What ends or is lost, in words. */
  readonly children: ComponentChildren;
  /** What the button does, as a verb. */
  readonly action: string;
  readonly busy?: boolean;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, children, action, busy = false, onYes, onNo }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onNo}>
      {children}
      <div class="dialog-actions">
        <Button onPress={onNo}>{t("cancel")}</Button>
        <Button kind="danger" busy={busy} onPress={onYes}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
