import type { ComponentChildren } from "preact";

import { SafeText } from "@crab/web-shared/safe-text";

import { Link } from "./link";
import { place } from "./place";
import { api, who } from "./store";

const PAGES = [
  { page: "", name: "Overview" },
  { page: "tools", name: "Tools" },
  { page: "calls", name: "Calls" },
];

const leave = () =>
  api.signOut().then(
    () => (who.value = { state: "out" }),
    () => undefined, // not reached: the session stays, and the page says so by its state
  );

/** Everything around a page: who is signed in, and the way out. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const now = who.value;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={toMain}>
        Skip to the page
      </a>
      <header class="top">
        <img src="./icon.svg" alt="" width="28" height="28" />
        <span class="top-name">crab console</span>
        <nav aria-label="Pages">
          {PAGES.map(({ page, name }) => (
            <Link
              key={page}
              to={{ page, filter: "", call: "", q: "", source: "", state: "" }}
              current={(place.value.get("page") ?? "") === page}
            >
              {name}
            </Link>
          ))}
        </nav>
        <span class="top-who">
          {now.state === "in" && <SafeText text={now.identity.principal} most={60} />}
        </span>
        <button type="button" class="button small" onClick={leave}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

/** Moves the focus without touching the address, which holds the page's state. */
function toMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
