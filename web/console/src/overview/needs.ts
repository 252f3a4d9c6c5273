import { now } from "@crab/web-shared/now";
import { distance } from "@crab/web-shared/words";

import { type DeviceList, type DeviceRow, liveTokens, slugOf } from "../devices/shapes";
import { type Health, levelOf } from "../health/shapes";
import type { GatewayStatus } from "../store";
import { t } from "./texts";

/** Something that waits for a person or is wrong, and where to do something about it. */
export interface Need {
  readonly text: string;
  readonly tone: "bad" | "warn";
  readonly page: string;
  readonly to?: Readonly<Record<string, string>>;
}

/** What is known of the gateway. */
export interface Known {
  readonly status: GatewayStatus;
  readonly devices?: DeviceList | undefined;
  readonly health?: Health | undefined;
  /** Calls that wait for a person. */
  readonly approvals: number;
}

const DAY_MS = 86_400_000;
const SOON_MS = 7 * DAY_MS;
const LONG_GONE_MS = 7 * DAY_MS;

const since = (time: string): number => now() - Date.parse(time);

function ofStatus(status: GatewayStatus): readonly Need[] {
  const { storage, audit, unhealthy = [] } = status;
  const texts = [
    ...(storage === "ok" ? [] : [t("storage")]),
    ...(audit.lost_records > 0 ? [t("audit", { n: audit.lost_records })] : []),
    ...unhealthy.map(({ component: name, reason }) => t("component", { name, reason })),
  ];
  return texts.map((text) => ({ text, tone: "bad", page: "health" }));
}

/** Certificates that end soon, and stores that fail. */
function ofHealth({ certificates = [], stores = [] }: Partial<Health>): readonly Need[] {
  const found: Need[] = [];
  for (const { name = "", state = "", not_after: end } of certificates) {
    if (levelOf(state) === "ok") continue;
    const ended = typeof end === "string" && since(end) > 0;
    const when = typeof end === "string" ? distance(end) : state;
    const text = t(ended ? "certificate.ended" : "certificate", { name, when });
    found.push({ text, tone: ended ? "bad" : "warn", page: "health" });
  }
  for (const { name = "", state = "" } of stores)
    if (levelOf(state) === "fail")
      found.push({ text: t("store", { name }), tone: "bad", page: "health" });
  return found;
}

/** A token that was to last, and ends soon; of what ended longer ago, nobody has to be told. */
function endsSoon(row: DeviceRow): string | undefined {
  return liveTokens(row).find(({ created_at: made, expires_at: end }) => {
    if (end === undefined) return false;
    return Date.parse(end) - Date.parse(made) > 2 * SOON_MS && Math.abs(since(end)) < SOON_MS;
  })?.expires_at;
}

function ofDevice(row: DeviceRow): readonly Need[] {
  const { name, connected, last_seen_at: seen, waiting_tools: { length: n } = [] } = row;
  const end = endsSoon(row);
  const texts = [
    ...(n > 0 ? [t("waiting", { n, name })] : []),
    ...(end === undefined ? [] : [t("token", { name, when: distance(end) })]),
    ...(!connected && seen !== undefined && since(seen) > LONG_GONE_MS
      ? [t("gone", { name, when: distance(seen) })]
      : []),
  ];
  const to = { device: slugOf(row) };
  return texts.map((text) => ({ text, tone: "warn", page: "devices", to }));
}

/** What needs somebody, worst first. */
export function needs({ status, devices, health, approvals }: Known): readonly Need[] {
  const found = [...ofStatus(status), ...ofHealth(health ?? {})];
  const asked = t("approvals", { n: approvals });
  if (approvals > 0) found.push({ text: asked, tone: "warn", page: "approvals" });
  for (const row of devices?.devices ?? []) found.push(...ofDevice(row));
  for (const row of devices?.callers ?? []) {
    const end = endsSoon(row);
    const text = t("token", { name: row.name, when: distance(end ?? "") });
    if (end !== undefined) found.push({ text, tone: "warn", page: "devices" });
  }
  const rank = { bad: 0, warn: 1 };
  return found.sort((a, b) => rank[a.tone] - rank[b.tone]);
}
