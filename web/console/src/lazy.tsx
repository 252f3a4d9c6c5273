import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import { ErrorCard } from "@crab/web-shared/error-card";
import { Skeleton } from "@crab/web-shared/skeleton";

import { t } from "./strings/shell";

interface Module {
  readonly default: ComponentType;
}

/** A component whose file is read once it is drawn. */
export function lazy(load: () => Promise<Module>): ComponentType {
  const read = signal<Module | "failed" | undefined>(undefined);
  const again = () => {
    read.value = undefined;
    load().then(
      (module) => (read.value = module),
      () => (read.value = "failed"),
    );
  };
  return function Lazy() {
    useEffect(() => {
      if (typeof read.value !== "object") again();
    }, []);
    if (read.value === undefined) return <Skeleton />;
    if (read.value !== "failed") return <read.value.default />;
    const error = { code: "NOT_LOADED", message: t("lazy.failed"), next: t("lazy.next") };
    return <ErrorCard error={error} onRetry={again} />;
  };
}
