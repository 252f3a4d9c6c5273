import type { ComponentChildren } from "preact";

import { addressWith, go } from "./place";

interface Props {
  readonly to: Readonly<Record<string, string>>;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A place of this page; another tab, a copied address and *back* work as with any link. */
export function Link({ to, current = false, children }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={addressWith(to)} onClick={follow} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
