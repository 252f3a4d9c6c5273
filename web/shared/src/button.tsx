import type { ComponentChildren } from "preact";

import "./button.css";
import { Icon, type IconName } from "./icons";
import { t } from "./strings/kit";

interface Props {
  readonly onPress: () => void;
  readonly children?: ComponentChildren;
  readonly kind?: "primary" | "plain" | "danger" | "bare";
  readonly small?: boolean;
  readonly icon?: IconName;
  /** The name of a button that shows only an icon, or less than it does. */
  readonly label?: string | undefined;
  /** Does nothing now; it stays where the focus may be. Say why beside it, or in `label`. */
  readonly off?: boolean;
  readonly busy?: boolean;
  readonly expanded?: boolean;
  readonly pressed?: boolean;
}

export function Button(props: Props) {
  const { onPress, children, kind = "plain", small = false, icon, label, off, busy } = props;
  const dead = off === true || busy === true;
  return (
    <button
      type="button"
      class={`button ${kind}${small ? " small" : ""}`}
      aria-label={label}
      title={children === undefined ? label : undefined}
      aria-disabled={dead || undefined}
      aria-expanded={props.expanded}
      aria-pressed={props.pressed}
      onClick={() => {
        if (!dead) onPress();
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
      {busy && <span class="unseen-caption">{t("busy")}</span>}
    </button>
  );
}
