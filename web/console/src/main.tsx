import "@crab/web-shared/tokens.css";
import "@crab/web-shared/base.css";
import { registerWorker } from "@crab/web-shared/worker";
import { render } from "preact";

import { App } from "./app";
import { codeOf, KEY } from "./api";
import { keepAllPreferences } from "./preferences";
import { enter, who } from "./store";

const code = codeOf(location.hash);
if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);

keepAllPreferences();
const root = document.getElementById("app");
if (root) render(<App />, root);
void enter(code === undefined ? undefined : { code });
if (import.meta.env.PROD)
  addEventListener("load", () => void registerWorker().catch(() => undefined)); // it works without
// A link pasted into an open page signs in too.
addEventListener("hashchange", () => {
  const late = codeOf(location.hash);
  if (late === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  void enter({ code: late });
});
// So does another tab of this browser.
addEventListener("storage", (event) => {
  if (event.key === KEY && event.newValue !== null && who.value.state === "out")
    void enter(undefined);
});
