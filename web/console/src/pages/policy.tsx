import { PageTitle } from "../page-title";
import { Matrix } from "../policy/matrix";
import "../policy/policy.css";
import { t } from "../policy/texts";
import { Trace } from "../policy/trace";
import { t as shell } from "../strings/shell";
import { tabOf, Tabs } from "@crab/web-shared/tabs";
import { place } from "../place";

const TABS = ["trace", "matrix"] as const;

/** Questions to the policy that runs. */
export default function Policy() {
  const tab = tabOf(TABS);
  const { value } = place;
  return (
    <>
      <PageTitle name={shell("page.policy")} />
      <p class="quiet">{t("reads")}</p>
      <Tabs label={t("tabs")} tabs={TABS.map((one) => ({ tab: one, name: t(`tab.${one}`) }))} />
      {tab === "trace" ? <Trace key={`${value.get("as")} ${value.get("tool")}`} /> : <Matrix />}
    </>
  );
}
