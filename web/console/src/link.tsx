import type { ComponentChildren } from "preact";

import { Anchor } from "@crab/web-shared/link";

import { addressOf, addressWith } from "./place";

interface Props {
  /** Another page, without what the address says of this one. */
  readonly page?: string;
  /** Members of the address: beside what it says now, or of the other page. */
  readonly to?: Readonly<Record<string, string>>;
  readonly current?: boolean;
  readonly onGo?: (() => void) | undefined;
  readonly children: ComponentChildren;
}

/** A place of this console. */
export function Link({ page, to = {}, ...rest }: Props) {
  return <Anchor address={page === undefined ? addressWith(to) : addressOf(page, to)} {...rest} />;
}
