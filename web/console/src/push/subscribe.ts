import type { Api } from "../api";

export interface PushSubscriptionRow {
  readonly id: string;
  readonly principal: string;
  readonly service: string;
  readonly created_at: string;
  readonly yours: boolean;
}

/** The id of this browser's own subscription, for as long as it has one. */
const NAME = "crab-push-id";
const ROOT = "/v1/admin/push";

/** What a browser can do: be told, be told once it is on the home screen, or nothing. */
export type Ability = "yes" | "home-screen" | "no";

export function ability(): Ability {
  if ("serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis)
    return isSecureContext ? "yes" : "no";
  return /iPhone|iPad/.test(navigator.userAgent) ? "home-screen" : "no";
}

export const ownId = (): string | null => localStorage.getItem(NAME);

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

export async function subscriptions(api: Api): Promise<readonly PushSubscriptionRow[]> {
  const path = `${ROOT}/subscriptions`;
  return (await api.get<{ subscriptions: readonly PushSubscriptionRow[] }>(path)).subscriptions;
}

/** Asks the person, then the browser, then the gateway. */
export async function subscribe(api: Api): Promise<void> {
  if ((await Notification.requestPermission()) !== "granted") throw new Error("denied");
  const { key } = await api.get<{ key: string }>(`${ROOT}/key`);
  const { pushManager } = await navigator.serviceWorker.ready;
  // One that was made with another key, as of a gateway before, is of no use.
  await (await pushManager.getSubscription())?.unsubscribe();
  const made = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: bytesOf(key),
  });
  const { endpoint, keys } = made.toJSON();
  const { id } = await api.post<{ id: string }>(`${ROOT}/subscriptions`, { endpoint, keys });
  localStorage.setItem(NAME, id);
}

export async function unsubscribe(api: Api, id: string): Promise<void> {
  if (id === ownId()) {
    const { pushManager } = await navigator.serviceWorker.ready;
    await (await pushManager.getSubscription())?.unsubscribe();
    localStorage.removeItem(NAME);
  }
  await api.delete(`${ROOT}/subscriptions/${encodeURIComponent(id)}`);
}

export const tryOut = (api: Api, id: string): Promise<unknown> =>
  api.post(`${ROOT}/subscriptions/${encodeURIComponent(id)}/test`, {});
