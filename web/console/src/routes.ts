import type { ComponentType } from "preact";

import { lazy } from "./lazy";
import { Overview } from "./pages/overview";
import { FIRST_PAGE } from "./place";
import type { PageName } from "./strings/shell";

export interface Route {
  /** Its value of `?page=`, its icon and, with `page.` before it, its name. */
  readonly page: PageName;
  /** Where it stands in the rail. */
  readonly group: "now" | "look" | "rules" | "self";
  /** After `g`. */
  readonly key?: string;
  /** Has a place in a phone's bar; all others are behind *More*. */
  readonly bar?: boolean;
  /** Reached from another page, not from the rail. */
  readonly hidden?: boolean;
  readonly view: ComponentType;
}

/** All pages, in the order of the rail. A page is its own file and its own line here. */
export const ROUTES: readonly Route[] = [
  { page: "overview", group: "now", key: "o", bar: true, view: Overview },
  {
    page: "approvals",
    group: "now",
    key: "a",
    bar: true,
    view: lazy(() => import("./pages/approvals")),
  },
  { page: "tools", group: "look", key: "t", view: lazy(() => import("./pages/tools")) },
  { page: "calls", group: "look", key: "l", view: lazy(() => import("./pages/calls")) },
  {
    page: "devices",
    group: "look",
    key: "d",
    bar: true,
    view: lazy(() => import("./pages/devices")),
  },
  { page: "policy", group: "rules", key: "p", view: lazy(() => import("./pages/policy")) },
  { page: "audit", group: "rules", key: "u", view: lazy(() => import("./pages/audit")) },
  { page: "sessions", group: "look", view: lazy(() => import("./pages/sessions")) },
  { page: "peers", group: "rules", view: lazy(() => import("./pages/peers")) },
  { page: "events", group: "rules", key: "e", view: lazy(() => import("./pages/events")) },
  { page: "artifacts", group: "rules", view: lazy(() => import("./pages/artifacts")) },
  { page: "mcp", group: "look", view: lazy(() => import("./pages/mcp")) },
  { page: "health", group: "self", key: "h", view: lazy(() => import("./pages/health")) },
  { page: "settings", group: "self", view: lazy(() => import("./pages/settings")) },
];

export const routeOf = (page: string | null): Route | undefined =>
  ROUTES.find((route) => route.page === (page ?? FIRST_PAGE));
