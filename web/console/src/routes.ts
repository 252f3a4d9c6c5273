import { lazy } from "@crab/web-shared/lazy";
import type { ComponentType } from "preact";

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

type Place = Omit<Route, "page" | "group" | "view">;

/** A page whose file is read once it is opened. */
const later = (
  page: PageName,
  group: Route["group"],
  load: () => Promise<{ default: ComponentType }>,
  place: Place = {},
): Route => ({ page, group, view: lazy(load), ...place });

/** All pages, in the order of the rail. A page is its own file and its own line here. */
export const ROUTES: readonly Route[] = [
  { page: "overview", group: "now", key: "o", bar: true, view: Overview },
  later("performance", "now", () => import("./pages/performance"), { hidden: true }),
  later("chat", "now", () => import("./pages/chat"), { key: "c", bar: true }),
  later("approvals", "now", () => import("./pages/approvals"), { key: "a", bar: true }),
  later("tools", "look", () => import("./pages/tools"), { key: "t" }),
  later("calls", "look", () => import("./pages/calls"), { key: "l" }),
  later("devices", "look", () => import("./pages/devices"), { key: "d", bar: true }),
  later("agents", "look", () => import("./pages/agents")),
  later("sessions", "look", () => import("./pages/sessions")),
  later("mcp", "look", () => import("./pages/mcp")),
  later("policy", "rules", () => import("./pages/policy"), { key: "p" }),
  later("peers", "rules", () => import("./pages/peers")),
  later("events", "rules", () => import("./pages/events"), { key: "e" }),
  later("audit", "rules", () => import("./pages/audit"), { key: "u" }),
  later("artifacts", "rules", () => import("./pages/artifacts")),
  later("health", "self", () => import("./pages/health"), { key: "h" }),
  later("settings", "self", () => import("./pages/settings")),
];

export const routeOf = (page: string | null): Route | undefined =>
  ROUTES.find((route) => route.page === (page ?? FIRST_PAGE));
