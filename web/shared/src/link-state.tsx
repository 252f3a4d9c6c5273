import { Button } from "./button";
import { nowEachSecond } from "./now";
import "./states.css";
import { t } from "./strings/kit";
import { clock } from "./words";

/** How a page stands to its gateway; times in milliseconds of the gateway's clock. */
export type Link =
  | { readonly state: "connecting" | "live" | "paused" }
  | { readonly state: "lost"; readonly since: number; readonly nextAt: number };

const Words = ({ link }: { readonly link: Link }) => {
  if (link.state !== "lost")
    return <>{t(link.state === "connecting" ? "connecting" : `link.${link.state}`)}</>;
  const n = Math.max(0, Math.ceil((link.nextAt - nowEachSecond()) / 1_000));
  const since = t("link.lost", { at: clock(new Date(link.since).toISOString()) });
  return <>{`${since}, ${t("link.next", { n })}`}</>;
};

export function LinkState({ link, onNow }: { readonly link: Link; readonly onNow: () => void }) {
  return (
    <span class={`link-state ${link.state}`}>
      <span class="link-dot" aria-hidden="true" />
      <span>
        <Words link={link} />
      </span>
      {link.state === "lost" && (
        <Button small onPress={onNow}>
          {t("link.now")}
        </Button>
      )}
    </span>
  );
}
