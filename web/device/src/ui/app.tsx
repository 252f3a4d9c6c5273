import { Guard } from "@crab/web-shared/error-card";
import { lazy, NotLoaded } from "@crab/web-shared/lazy";
import { LiveRegions } from "@crab/web-shared/live";
import { Skeleton } from "@crab/web-shared/skeleton";
import { Toasts } from "@crab/web-shared/toast";

import { view } from "../state.js";

const Pairing = lazy<{ readonly code: string | undefined; readonly lost: boolean }>(() =>
  import("./pairing.js").then(({ Pairing }) => ({ default: Pairing })),
);

export function App() {
  const now = view.value;
  return (
    <>
      <Guard>
        {now.kind === "reading" && <Skeleton />}
        {now.kind === "failed" && <NotLoaded onRetry={() => location.reload()} />}
        {now.kind === "pairing" && <Pairing key={now.code} code={now.code} lost={now.lost} />}
        {now.kind === "device" && <now.Paired page={now.page} />}
      </Guard>
      <Toasts />
      <LiveRegions />
    </>
  );
}
