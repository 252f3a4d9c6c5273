import {
  browserKeyStore,
  codeFromLink,
  DeviceKey,
  TokenRefused,
  type TokenSource,
} from "@crab/device";
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

import type { DevicePage } from "./device-page.js";
import { beTheOneTab } from "./one-tab.js";
import { SettingsStore } from "./settings.js";

/** What is shown: the way to pair, or the paired device once its part of the page is read. */
export type View =
  | { readonly kind: "reading" }
  | { readonly kind: "failed" }
  | { readonly kind: "pairing"; readonly code: string | undefined; readonly lost: boolean }
  | {
      readonly kind: "device";
      readonly page: DevicePage;
      readonly Paired: ComponentType<{ readonly page: DevicePage }>;
    };

export const view = signal<View>({ kind: "reading" });
export const gateway = new URL("..", document.baseURI).href; // the page is at device/ below it
export const settings = new SettingsStore(localStorage, navigator.userAgent);
export const keys = browserKeyStore("crab.device");

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
  if (window.location.hash !== "")
    history.replaceState(undefined, "", window.location.pathname + window.location.search);
  return code;
}

function showPairing(code: string | undefined, lost: boolean): void {
  if (view.value.kind === "device") view.value.page.close();
  view.value = { kind: "pairing", code, lost };
}

/** Paired by that token, or by the key in the browser's database. */
export async function showDevice(token: string | TokenSource = byKey): Promise<void> {
  const paired = await import("./paired.js").catch(() => undefined);
  if (!paired) {
    view.value = { kind: "failed" };
    return;
  }
  const page = paired.pairedPage({
    gateway,
    token,
    settings,
    unpaired: (lost) => {
      settings.unpaired();
      void keys.forget().catch(() => {}); // there may be none
      showPairing(undefined, lost);
    },
  });
  view.value = { kind: "device", page, Paired: paired.Paired };
  answerHere(page);
}

/** This tab answers from now on. */
export function answerHere(page: DevicePage): void {
  beTheOneTab(
    () => page.start(),
    () => page.yieldToOtherTab(),
  );
}

function show(): void {
  const code = takeCode();
  const { key, token } = settings.get();
  const identity = key ? byKey : token;
  if (identity !== undefined && code === undefined) void showDevice(identity);
  else showPairing(code, false);
}

/** Shows what this browser is, and again when somebody follows a link with a code. */
export function begin(): void {
  addEventListener("hashchange", () => {
    if (codeFromLink(window.location.hash) !== undefined) show();
  });
  show();
}
