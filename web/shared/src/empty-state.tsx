import type { ComponentChildren } from "preact";

import { Spoken } from "./live";
import "./states.css";

interface Props {
  /** What would be here. */
  readonly title: string;
  /** Why it is not. */
  readonly children?: ComponentChildren;
  /** The one thing to do about it: a button or a link. */
  readonly action?: ComponentChildren;
}

export function EmptyState({ title, children, action }: Props) {
  return (
    <div class="empty">
      <h2>
        <Spoken as="span">{title}</Spoken>
      </h2>
      {children && <p class="quiet">{children}</p>}
      {action}
    </div>
  );
}
