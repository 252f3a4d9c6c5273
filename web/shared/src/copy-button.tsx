import type { ComponentChildren } from "preact";

import { Button } from "./button";
import { t } from "./strings/kit";
import { toast } from "./toast";

interface Props {
  readonly text: string;
  readonly children?: ComponentChildren;
  readonly label?: string;
}

/** Puts `text` into the clipboard as it is, which is more than `SafeText` shows of it. */
export function CopyButton({ text, children, label }: Props) {
  const copy = () => {
    const done = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => toast({ text: t("copied") }),
      () => toast({ text: t("copy.failed") }),
    );
  };
  return (
    <Button small icon="copy" label={label} onPress={copy}>
      {children ?? t("copy")}
    </Button>
  );
}
