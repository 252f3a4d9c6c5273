import { Guard } from "@crab/web-shared/error-card";
import { LiveRegions } from "@crab/web-shared/live";
import { Skeleton } from "@crab/web-shared/skeleton";
import { Toasts } from "@crab/web-shared/toast";

import { view } from "../state.js";
import { Pairing } from "./pairing.js";

export function App() {
  const now = view.value;
  return (
    <>
      <Guard>
        {now.kind === "reading" && <Skeleton />}
        {now.kind === "pairing" && <Pairing key={now.code} code={now.code} lost={now.lost} />}
        {now.kind === "device" && <now.Paired page={now.page} />}
      </Guard>
      <Toasts />
      <LiveRegions />
    </>
  );
}
