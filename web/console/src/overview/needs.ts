import { type DeviceList, slugOf } from "../devices/shapes";
import type { GatewayStatus } from "../store";
import { t } from "./texts";

/** Something that waits for a person or is wrong, and where to do something about it. */
export interface Need {
  readonly text: string;
  readonly tone: "bad" | "warn";
  readonly page: string;
  readonly to?: Readonly<Record<string, string>>;
}

/** What needs somebody, worst first. */
export function needs(
  status: GatewayStatus,
  devices: DeviceList | undefined,
  approvals: number,
): readonly Need[] {
  const found: Need[] = [];
  const bad = (text: string) => found.push({ text, tone: "bad", page: "health" });
  if (status.storage !== "ok") bad(t("storage"));
  const lost = status.audit.lost_records;
  if (lost > 0) bad(t("audit", { n: lost }));
  for (const { component: name, reason } of status.unhealthy ?? [])
    bad(t("component", { name, reason }));
  if (approvals > 0)
    found.push({ text: t("approvals", { n: approvals }), tone: "warn", page: "approvals" });
  for (const row of devices?.devices ?? []) {
    const n = row.waiting_tools?.length ?? 0;
    const text = t("waiting", { n, name: row.name });
    if (n > 0) found.push({ text, tone: "warn", page: "devices", to: { device: slugOf(row) } });
  }
  return found;
}
