import type { ComponentChildren } from "preact";

import { visit } from "./place";

interface Props {
  readonly address: string;
  readonly current?: boolean;
  readonly onGo?: (() => void) | undefined;
  readonly children: ComponentChildren;
}

/** A place of this page; another tab, a copied address and *back* work as with any link. */
export function Anchor({ address, current = false, onGo, children }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    visit(address);
    onGo?.();
  };
  return (
    <a href={address} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
