import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import { ErrorCard } from "./error-card";
import { Skeleton } from "./skeleton";
import { t } from "./strings/kit";

interface Module<Props> {
  readonly default: ComponentType<Props>;
}

/** In place of a part of a page whose file could not be read. */
export function NotLoaded({ onRetry }: { readonly onRetry: () => void }) {
  const error = { code: "NOT_LOADED", message: t("lazy.failed"), next: t("lazy.next") };
  return <ErrorCard error={error} onRetry={onRetry} />;
}

/** A component whose file is read once it is drawn. */
export function lazy<Props extends object>(
  load: () => Promise<Module<Props>>,
): ComponentType<Props> {
  const read = signal<Module<Props> | "failed" | undefined>(undefined);
  const again = () => {
    read.value = undefined;
    load().then(
      (module) => (read.value = module),
      () => (read.value = "failed"),
    );
  };
  return function Lazy(props) {
    useEffect(() => {
      if (typeof read.value !== "object") again();
    }, []);
    if (read.value === undefined) return <Skeleton />;
    if (read.value === "failed") return <NotLoaded onRetry={again} />;
    return <read.value.default {...props} />;
  };
}
