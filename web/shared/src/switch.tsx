import type { ComponentChildren } from "preact";

import "./switch.css";

interface Props {
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
  /** What is switched: the switch's name. */
  readonly children: ComponentChildren;
  readonly off?: boolean;
}

/** On or off, at once; `off` means that it cannot be moved now. */
export function Switch({ on, onChange, children, off = false }: Props) {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={on}
      aria-disabled={off || undefined}
      onClick={() => {
        if (!off) onChange(!on);
      }}
    >
      <span class="switch-track" aria-hidden="true" />
      <span>{children}</span>
    </button>
  );
}
