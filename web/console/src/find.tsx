import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";

import { t } from "./strings/shell";

interface Props {
  readonly onClose: () => void;
}

/** The button and the keys of the palette, whose file is read once it is wanted. */
export function Find() {
  const [open, setOpen] = useState(false);
  const [Palette, setPalette] = useState<ComponentType<Props>>();
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey)
        return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (!open || Palette) return;
    import("./palette/palette").then(
      ({ default: read }) => setPalette(() => read),
      () => setOpen(false),
    );
  }, [open]);
  return (
    <>
      <Button small kind="bare" icon="search" label={t("palette")} onPress={() => setOpen(true)} />
      {open && Palette && <Palette onClose={() => setOpen(false)} />}
    </>
  );
}
