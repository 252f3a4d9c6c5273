import type { ComponentChildren } from "preact";

import { Anchor } from "./link";
import { addressWith, place } from "./place";
import "./tabs.css";

interface Props<Name extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly tab: Name; readonly name: ComponentChildren }[];
  /** The member of the address that holds the tab; the first one needs none. */
  readonly member?: string;
  /** Members of the address that belong to one tab, and go with it. */
  readonly drop?: readonly string[];
}

/** Which tab the address says. */
export function tabOf<Name extends string>(all: readonly Name[], member = "tab"): Name {
  const said = place.value.get(member);
  return all.find((one) => one === said) ?? (all[0] as Name);
}

/** Parts of a page as links: another tab, *back* and a reload keep the part that is shown. */
export function Tabs<Name extends string>(props: Props<Name>) {
  const { label, tabs, member = "tab", drop = [] } = props;
  const now = tabOf(
    tabs.map(({ tab }) => tab),
    member,
  );
  const gone = Object.fromEntries(drop.map((name) => [name, ""]));
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ tab, name }, index) => (
        <Anchor
          key={tab}
          address={addressWith({ ...gone, [member]: index === 0 ? "" : tab })}
          current={tab === now}
        >
          {name}
        </Anchor>
      ))}
    </nav>
  );
}
