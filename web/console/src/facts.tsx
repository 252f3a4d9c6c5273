import type { ComponentChildren } from "preact";

import { SafeText } from "@crab/web-shared/safe-text";

import "./facts.css";

/** A name and its value; a text is foreign and shown as such, what is missing is left out. */
export type Fact = readonly [name: string, value: ComponentChildren];

/** Names and values, as many beside each other as there is room for. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? <SafeText text={value} most={200} /> : value}</dd>
          </div>
        ))}
    </dl>
  );
}
