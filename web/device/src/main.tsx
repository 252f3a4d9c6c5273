import "@crab/web-shared/tokens.css";
import "@crab/web-shared/base.css";
import { keepPreferences } from "@crab/web-shared/preferences";
import { registerWorker } from "@crab/web-shared/worker";
import { render } from "preact";

import { keepInstallOffer } from "./install.js";
import { begin } from "./state.js";
import "./style.css";
import { App } from "./ui/app.js";

keepPreferences();
keepInstallOffer();
begin();
const root = document.getElementById("app");
if (root) render(<App />, root);
void registerWorker().catch(() => {}); // the page works without it
