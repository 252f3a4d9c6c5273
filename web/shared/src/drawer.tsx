import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import { Button } from "./button";
import { focusBack } from "./dialog";
import "./drawer.css";
import { Guard } from "./error-card";
import { t } from "./strings/kit";

interface Props {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}

/**
 * One thing of a list, beside the list; over it where there is no room. The focus goes to its
 * title and back; Escape closes it.
 */
export function Drawer({ title, children, onClose }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  useEffect(() => {
    const drawer = box.current;
    const before = document.activeElement;
    if (matchMedia("(max-width: 760px)").matches) drawer?.showModal();
    else drawer?.show();
    heading.current?.focus();
    return () => {
      drawer?.close();
      focusBack(before);
    };
  }, []);
  return (
    <dialog
      ref={box}
      class="drawer"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <Button small kind="bare" icon="cross" label={t("close")} onPress={onClose} />
      </div>
      <Guard>{children}</Guard>
    </dialog>
  );
}
