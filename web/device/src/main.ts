import { codeFromLink } from "@crab/device";

import { DevicePage } from "./device-page.js";
import { beTheOneTab } from "./one-tab.js";
import { SettingsStore } from "./settings.js";
import { allTools } from "./tools/all.js";
import { fill } from "./ui/dom.js";
import { PairingView } from "./ui/pairing-view.js";

const app = document.getElementById("app") as HTMLElement;
const gateway = new URL("..", document.baseURI).href; // the page is at device/ below it
const settings = new SettingsStore(localStorage, navigator.userAgent);
let current: DevicePage | undefined;
const tools = allTools.filter((tool) => tool.available());

/** The code in `#pair=…`; the address bar does not keep it. */
function takeCode(): string | undefined {
  const code = codeFromLink(window.location.hash);
  if (window.location.hash !== "") history.replaceState(undefined, "", window.location.pathname);
  return code;
}

function showPairing(code: string | undefined, notice: string | undefined): void {
  current?.close();
  current = undefined;
  const view = new PairingView({
    gateway, name: settings.get().name, code, notice,
    paired: (token, name) => {
      settings.set({ token, name });
      showDevice(token);
    },
  });
  fill(app, view.element);
  view.focus();
}

function showDevice(token: string): void {
  const page = new DevicePage({
    gateway, token, settings, tools,
    unpaired: (why) => {
      settings.forgetToken();
      showPairing(undefined, why);
    },
  });
  current = page;
  fill(app, page.element);
  beTheOneTab(() => page.start(), () => page.yieldToOtherTab());
}

function begin(): void {
  const code = takeCode();
  const { token } = settings.get();
  if (token !== undefined && code === undefined) showDevice(token);
  else showPairing(code, undefined);
}

addEventListener("hashchange", () => { if (codeFromLink(window.location.hash) !== undefined) begin(); });
begin();
void navigator.serviceWorker?.register("./sw.js").catch(() => {}); // the page works without
