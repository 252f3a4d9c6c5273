import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

import "./card.css";
import { Guard } from "./error-card";

interface Props {
  readonly title?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Buttons and links at the end of the title's line. */
  readonly actions?: ComponentChildren;
  /** What it shows is from before the connection was lost. */
  readonly old?: boolean;
}

/** A part of a page with a title; if its content cannot be drawn, the others stay. */
export function Card({ title, children, actions, old = false }: Props) {
  const id = useId();
  return (
    <section class={old ? "card old" : "card"} aria-labelledby={title ? id : undefined}>
      {(title || actions) && (
        <div class="card-head">
          {title && <h2 id={id}>{title}</h2>}
          {actions}
        </div>
      )}
      <Guard>{children}</Guard>
    </section>
  );
}
