import type { ComponentChildren } from "preact";

import { addressOf, addressWith, visit } from "./place";

interface Props {
  /** Another page, without what the address says of this one. */
  readonly page?: string;
  /** Members of the address: beside what it says now, or of the other page. */
  readonly to?: Readonly<Record<string, string>>;
  readonly current?: boolean;
  readonly onGo?: (() => void) | undefined;
  readonly children: ComponentChildren;
}

/** A place of this console; another tab, a copied address and *back* work as with any link. */
export function Link({ page, to = {}, current = false, onGo, children }: Props) {
  const address = page === undefined ? addressWith(to) : addressOf(page, to);
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
