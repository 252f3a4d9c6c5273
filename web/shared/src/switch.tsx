import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

import "./switch.css";

interface Props {
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
  /** What is switched: the switch's name. */
  readonly children: ComponentChildren;
  readonly off?: boolean;
  /** What it means, or why it cannot be moved; part of its description. */
  readonly hint?: ComponentChildren;
  readonly id?: string;
}

/** On or off, at once; `off` means that it cannot be moved now. */
export function Switch({ on, onChange, children, off = false, hint, id: named }: Props) {
  const made = useId();
  const id = named ?? made;
  return (
    <button
      type="button"
      role="switch"
      id={id}
      class="switch"
      aria-checked={on}
      aria-disabled={off || undefined}
      aria-labelledby={hint ? `${id}-name` : undefined}
      aria-describedby={hint ? `${id}-hint` : undefined}
      onClick={() => {
        if (!off) onChange(!on);
      }}
    >
      <span class="switch-track" aria-hidden="true" />
      <span>
        <span id={`${id}-name`}>{children}</span>
        {hint && (
          <span class="switch-hint quiet" id={`${id}-hint`}>
            {hint}
          </span>
        )}
      </span>
    </button>
  );
}
