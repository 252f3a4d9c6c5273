import type { DeviceEvent } from "@crab/device";

/** How the page stands to its gateway. */
export type Link =
  | { readonly state: "connecting" | "paused" | "elsewhere" }
  | { readonly state: "connected"; readonly rejected: readonly string[]; readonly notice?: string }
  /** `nextAt` is missing while it tries. */
  | {
      readonly state: "lost";
      readonly since: number;
      readonly why: string;
      readonly nextAt?: number;
    }
  | { readonly state: "away"; readonly why: string };

/** What an event makes of a link. */
export function linkAfter(link: Link, event: DeviceEvent, now: number): Link {
  switch (event.kind) {
    case "connecting": {
      if (link.state !== "lost") return { state: "connecting" };
      const { since, why } = link;
      return { state: "lost", since, why };
    }
    case "connected":
      return { state: "connected", rejected: event.rejected.map(({ name }) => name) };
    case "lost": {
      const since = link.state === "lost" ? link.since : now;
      return { state: "lost", since, why: event.why, nextAt: now + event.retryInMs };
    }
    case "notice":
      return link.state === "connected" ? { ...link, notice: event.message } : link;
    case "ended":
      return event.end.reason === "stopped"
        ? { state: "paused" }
        : { state: "away", why: event.end.message };
  }
}
