import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "./icons";
import "./pill.css";

export type Tone = "plain" | "good" | "warn" | "bad";

const SIGNS: Readonly<Partial<Record<Tone, IconName>>> = { good: "check", warn: "warn", bad: "cross" };

/** A state in a word or two. The sign says the same as the colour. */
export function Pill({
  tone = "plain",
  says,
  children,
}: {
  readonly tone?: Tone;
  /** What the sign says, for who does not see it: where the words alone do not. */
  readonly says?: string;
  readonly children: ComponentChildren;
}) {
  const sign = SIGNS[tone];
  return (
    <span class={`pill ${tone}`}>
      {sign && <Icon name={sign} />}
      <span>
        {says !== undefined && <span class="unseen-caption">{says} </span>}
        {children}
      </span>
    </span>
  );
}
