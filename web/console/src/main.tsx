import "@crab/web-shared/tokens.css";
import "@crab/web-shared/base.css";
import { registerWorker } from "@crab/web-shared/worker";
import { render } from "preact";

import { App } from "./app";
import { codeOf, KEY, pairingCodeOf } from "./api";
import { keepAllPreferences } from "./preferences";
import { enter, enterOrPair, who } from "./store";

const code = codeOf(location.hash);
const pairing = pairingCodeOf(location.hash);
if (code !== undefined || pairing !== undefined)
  history.replaceState(null, "", location.pathname + location.search);

keepAllPreferences();
const root = document.getElementById("app");
if (root) render(<App />, root);
if (pairing !== undefined) void enterOrPair(pairing);
else void enter(code === undefined ? undefined : { code });
if (import.meta.env.PROD)
  addEventListener("load", () => void registerWorker().catch(() => undefined)); // it works without
// A link pasted into an open page signs in too.
addEventListener("hashchange", () => {
  const late = codeOf(location.hash);
  const latePairing = pairingCodeOf(location.hash);
  if (late === undefined && latePairing === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  if (late !== undefined) void enter({ code: late });
  else if (latePairing !== undefined) void enterOrPair(latePairing);
});
// The button of a notice: its worker cannot speak for the session, which is half the page's.
navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
  const { kind, id } = (data ?? {}) as { readonly kind?: unknown; readonly id?: unknown };
  if (kind === "deny")
    void import("./push/denials").then(({ denyWhenSignedIn }) => denyWhenSignedIn(id));
});
navigator.serviceWorker?.startMessages();
// Another tab of this browser signs in here, too.
addEventListener("storage", (event) => {
  if (event.key === KEY && event.newValue !== null && who.value.state === "out")
    void enter(undefined);
});
