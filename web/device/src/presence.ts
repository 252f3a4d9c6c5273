import type { Presence } from "@crab/device";

import { more } from "./tools/facts.js";

/**
 * Reports the state of this browser, now and whenever it changes, until `signal` is aborted:
 * charge, a metered network, whether the page is in the foreground.
 */
export async function watchPresence(
  tell: (presence: Presence) => void,
  signal: AbortSignal,
): Promise<void> {
  const { connection } = more;
  const battery = await more.getBattery?.().catch(() => undefined);
  const now = () =>
    tell({
      foreground: !document.hidden,
      ...(battery && { battery: battery.level, charging: battery.charging }),
      ...(connection && {
        metered: connection.saveData === true || connection.type === "cellular",
      }),
    });
  document.addEventListener("visibilitychange", now, { signal });
  connection?.addEventListener("change", now, { signal });
  for (const event of ["levelchange", "chargingchange"])
    battery?.addEventListener(event, now, { signal });
  if (!signal.aborted) now();
}
