import type { DevicePageOptions } from "./device-page.js";

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

type Whose = Pick<DevicePageOptions, "gateway" | "token">;

async function ask(whose: Whose, method: string, body?: unknown): Promise<Response> {
  const { gateway, token } = whose;
  const bearer = typeof token === "string" ? token : await token.token();
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = await fetch(new URL("device/push", gateway), init);
  if (!answer.ok) throw new Error(`the gateway answers ${answer.status}`);
  return answer;
}

const manager = async () => (await navigator.serviceWorker.ready).pushManager;

/** Browsers push to secure pages; those of iPhones to such as are on the home screen. */
export const canBeWoken = (): boolean =>
  isSecureContext && "serviceWorker" in navigator && "PushManager" in globalThis;

export const isWoken = async (): Promise<boolean> =>
  (await (await manager()).getSubscription()) !== null;

/** Asks the person, then the browser, then the gateway; false: the person does not want it. */
export async function wakeMe(whose: Whose): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return false;
  const { key } = (await (await ask(whose, "GET")).json()) as { key: string };
  const push = await manager();
  await (await push.getSubscription())?.unsubscribe(); // of another key, perhaps
  const made = await push.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(key) });
  const { endpoint, keys } = made.toJSON();
  await ask(whose, "PUT", { endpoint, keys });
  return true;
}

export async function letMeSleep(whose: Whose): Promise<void> {
  await (await (await manager()).getSubscription())?.unsubscribe();
  await ask(whose, "DELETE");
}
