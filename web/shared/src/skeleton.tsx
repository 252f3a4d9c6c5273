import "./states.css";
import { t } from "./strings/kit";

/** The place of what is on its way, seen after 150 ms. */
export function Skeleton({ size = "page" }: { readonly size?: "page" | "card" | "line" }) {
  const style = { page: "skeleton", card: "skeleton card-size", line: "skeleton line" }[size];
  return (
    <div class={style} aria-busy="true">
      <span class="unseen-caption">{t("loading")}</span>
    </div>
  );
}
