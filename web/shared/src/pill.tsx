import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "./icons";
import "./pill.css";

export type Tone = "plain" | "good" | "warn" | "bad";

const SIGNS: Readonly<Partial<Record<Tone, IconName>>> = { good: "check", warn: "warn", bad: "cross" };

/** A state in a word or two. The sign says the same as the colour. */
export function Pill({
  tone = "plain",
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}) {
  const sign = SIGNS[tone];
  return (
    <span class={`pill ${tone}`}>
      {sign && <Icon name={sign} />}
      <span>{children}</span>
    </span>
  );
}
