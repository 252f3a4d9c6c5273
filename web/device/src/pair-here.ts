import { DeviceKey, hasDeviceKeys, pair } from "@crab/device";

import { gateway, keys, settings, showDevice } from "./state.js";

/** By a key where the browser can keep one (not in every private window), else by a token. */
export async function pairThisBrowser(code: string, name: string): Promise<void> {
  const canKeepKeys =
    hasDeviceKeys() &&
    (await keys.load().then(
      () => true,
      () => false,
    ));
  const token = canKeepKeys
    ? await DeviceKey.pair(gateway, code, keys).then(() => undefined)
    : await pair(gateway, code);
  settings.pairedBy(token, name);
  await showDevice(token);
}
