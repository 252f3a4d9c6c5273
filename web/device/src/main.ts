import {
  browserKeyStore,
  codeFromLink,
  DeviceKey,
  hasDeviceKeys,
  pair,
  TokenRefused,
  type TokenSource,
} from "@crab/device";

import { DevicePage } from "./device-page.js";
import { beTheOneTab } from "./one-tab.js";
import { SettingsStore } from "./settings.js";
import { allTools } from "./tools/all.js";
import { fill } from "./ui/dom.js";
import { PairingView } from "./ui/pairing-view.js";

const app = document.getElementById("app") as HTMLElement;
const gateway = new URL("..", document.baseURI).href; // the page is at device/ below it
const settings = new SettingsStore(localStorage, navigator.userAgent);
const keys = browserKeyStore("crab.device");
let current: DevicePage | undefined;
const tools = allTools.filter((tool) => tool.available());

/** Tokens by the key in the browser's database. */
const byKey: TokenSource = {
  token: async () => {
    const key = await DeviceKey.load(gateway, keys);
    if (!key) throw new TokenRefused("This browser has lost its key. Pair it again.");
    return key.token();
  },
};

/** The code in `#pair=…`; the address bar does not keep it. */
function takeCode(): string | undefined {
  const code = codeFromLink(window.location.hash);
  if (window.location.hash !== "") history.replaceState(undefined, "", window.location.pathname);
  return code;
}

/** By a key where the browser can keep one (not in every private window), else by a token. */
async function pairThisBrowser(code: string, name: string): Promise<void> {
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
  showDevice(token ?? byKey);
}

function showPairing(code: string | undefined, notice: string | undefined): void {
  current?.close();
  current = undefined;
  const view = new PairingView({
    gateway,
    name: settings.get().name,
    code,
    notice,
    pair: pairThisBrowser,
  });
  fill(app, view.element);
  view.focus();
}

function showDevice(token: string | TokenSource): void {
  const page = new DevicePage({
    gateway,
    token,
    settings,
    tools,
    unpaired: (why) => {
      settings.unpaired();
      void keys.forget().catch(() => {}); // there may be none
      showPairing(undefined, why);
    },
  });
  current = page;
  fill(app, page.element);
  beTheOneTab(
    () => page.start(),
    () => page.yieldToOtherTab(),
  );
}

function begin(): void {
  const code = takeCode();
  const { key, token } = settings.get();
  const identity = key ? byKey : token;
  if (identity !== undefined && code === undefined) showDevice(identity);
  else showPairing(code, undefined);
}

addEventListener("hashchange", () => {
  if (codeFromLink(window.location.hash) !== undefined) begin();
});
begin();
void navigator.serviceWorker?.register("./sw.js").catch(() => {}); // the page works without it
