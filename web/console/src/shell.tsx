import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Dialog } from "@crab/web-shared/dialog";
import { Icon } from "@crab/web-shared/icons";
import { LinkState } from "@crab/web-shared/link-state";
import { Spoken } from "@crab/web-shared/live";
import { Mark } from "@crab/web-shared/mark";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { Find } from "./find";
import { Preferences } from "./keys";
import { Link } from "./link";
import { hub } from "./live/use-live";
import { PageIcon } from "./page-icon";
import { waiting } from "./page-title";
import { FIRST_PAGE, place } from "./place";
import { type Route, ROUTES } from "./routes";
import "./shell.css";
import { api, chatsOnly, mayWrite, who } from "./store";
import { t } from "./strings/shell";

const GROUPS = ["now", "look", "rules", "self"] as const;

const leave = () =>
  api.signOut().then(
    () => (who.value = { state: "out" }),
    () => undefined, // not reached: the session stays, and the page says so by its state
  );

/** Who only chats has no other page. */
const routes = () => (chatsOnly.value ? ROUTES.filter(({ page }) => page === "chat") : ROUTES);

const current = () => place.value.get("page") ?? FIRST_PAGE;

function PageLink({ route, onGo }: { readonly route: Route; readonly onGo?: () => void }) {
  const count = route.page === "approvals" ? waiting.value : 0;
  return (
    <Link page={route.page} current={current() === route.page} onGo={onGo}>
      <PageIcon page={route.page} />
      <span class="nav-name">{t(`page.${route.page}`)}</span>
      {count > 0 && <span class="nav-count">{count}</span>}
    </Link>
  );
}

/** All pages by groups. */
function Pages({ onGo }: { readonly onGo?: () => void }) {
  return (
    <>
      {GROUPS.map((group) => {
        const shown = routes().filter((route) => route.group === group && !route.hidden);
        return (
          shown.length > 0 && (
            <ul key={group} aria-label={t(`group.${group}`)}>
              {shown.map((route) => (
                <li key={route.page}>
                  <PageLink route={route} {...(onGo && { onGo })} />
                </li>
              ))}
            </ul>
          )
        );
      })}
    </>
  );
}

/** The phone's bar: what is needed away from a desk, the rest behind *More*. */
function Bar() {
  const [open, setOpen] = useState(false);
  return (
    <nav class="bar" aria-label={t("nav.pages")}>
      {routes().filter((route) => route.bar).map((route) => (
        <PageLink key={route.page} route={route} />
      ))}
      <button type="button" class="bar-more" onClick={() => setOpen(true)}>
        <Icon name="more" />
        <span class="nav-name">{t("nav.more")}</span>
      </button>
      {open && (
        <Dialog title={t("nav.pages")} onClose={() => setOpen(false)}>
          <div class="all-pages">
            <Pages onGo={() => setOpen(false)} />
          </div>
        </Dialog>
      )}
    </nav>
  );
}

/** The page is of another version than the gateway: it says so, and reloads on a press only. */
function NewVersion() {
  const now = who.value;
  const { version } = hub.live.value;
  if (now.state !== "in" || version === "" || version === now.identity.version) return null;
  return (
    <Spoken class="notice row">
      {t("nav.newVersion")}
      <Button small onPress={() => location.reload()}>
        {t("nav.reload")}
      </Button>
    </Spoken>
  );
}

/** Everything around a page: the other pages, who is signed in, and the way out. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const now = who.value;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={toMain}>
        {t("nav.skip")}
      </a>
      <header class="top">
        <Mark size={28} />
        <span class="top-name">crab</span>
        <span class="top-who">
          {now.state === "in" && <SafeText text={now.identity.principal} most={60} />}
          {now.state === "in" && !mayWrite.value && !chatsOnly.value && (
            <Pill>{t("nav.readOnly")}</Pill>
          )}
        </span>
        {!hub.refused.value && !chatsOnly.value && (
          <LinkState link={hub.link.value} onNow={() => hub.tryNow()} />
        )}
        {!chatsOnly.value && <Find />}
        <Preferences />
        <Button small onPress={leave}>
          {t("nav.signOut")}
        </Button>
      </header>
      <nav class="rail" aria-label={t("nav.pages")}>
        <Pages />
      </nav>
      <main id="main" tabIndex={-1}>
        <NewVersion />
        {children}
      </main>
      <Bar />
    </div>
  );
}

/** Moves the focus without touching the address, which holds the page's state. */
function toMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
