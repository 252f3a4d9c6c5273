import { Button } from "@crab/web-shared/button";
import { lazy } from "@crab/web-shared/lazy";
import { Spoken } from "@crab/web-shared/live";
import { Mark } from "@crab/web-shared/mark";
import { nowEachSecond } from "@crab/web-shared/now";
import { SafeText } from "@crab/web-shared/safe-text";
import { tabOf, Tabs } from "@crab/web-shared/tabs";
import { clock } from "@crab/web-shared/words";

import type { DevicePage } from "../device-page.js";
import type { Link } from "../link.js";
import { answerHere } from "../state.js";
import { t } from "../strings/t.js";
import { Now } from "./now.js";
import { Tools } from "./tools.js";

interface Props {
  readonly page: DevicePage;
}

const Answers = lazy<Props>(() =>
  import("./rarely.js").then(({ Answers }) => ({ default: Answers })),
);
const About = lazy<Props>(() =>
  import("./rarely.js").then(({ About }) => ({ default: About })),
);
const TABS = ["now", "tools", "answers", "about"] as const;
const VIEWS = { now: Now, tools: Tools, answers: Answers, about: About };
const SIGNS = { connected: "live", lost: "lost" } as const;

/** When it tries again, from second to second. */
function Next({ at }: { readonly at: number | undefined }) {
  if (at === undefined) return <>{t("link.trying")}</>;
  return <>{t("link.next", { n: Math.max(0, Math.ceil((at - nowEachSecond()) / 1_000)) })}</>;
}

function Lost({ link, page }: Props & { readonly link: Link & { state: "lost" } }) {
  const at = clock(new Date(link.since).toISOString());
  return (
    <>
      <p>
        {t(navigator.onLine ? "link.silent" : "link.offline", { at })} <Next at={link.nextAt} />
      </p>
      <div class="row">
        <Button small onPress={() => page.tryNow()}>
          {t("link.now")}
        </Button>
        <details>
          <summary>{t("link.details")}</summary>
          <SafeText text={link.why} />
        </details>
      </div>
    </>
  );
}

function LinkWords({ link, page }: Props & { readonly link: Link }) {
  if (link.state === "lost") return <Lost link={link} page={page} />;
  const rejected = link.state === "connected" ? link.rejected.join(", ") : "";
  const more = link.state === "connected" ? link.notice : link.state === "away" ? link.why : "";
  return (
    <p>
      {t(`link.${link.state}.why`)}{" "}
      {rejected !== "" && <>{t("link.rejected", { names: rejected })} </>}
      {more && <SafeText text={more} />}
    </p>
  );
}

/** Name and state of this device, and how to pause it. */
function Hero({ page }: Props) {
  const link = page.link.value;
  const sign = link.state === "connected" || link.state === "lost" ? SIGNS[link.state] : "";
  return (
    <section class="card hero" aria-labelledby="device-name">
      <div class="hero-head">
        <h1 id="device-name">
          <SafeText text={page.name.value} />
        </h1>
        <p class={`link link-state ${sign}`} role="status">
          <span class="link-dot" aria-hidden="true" />
          <span>{t(`link.${link.state}`)}</span>
        </p>
        {link.state === "elsewhere" ? (
          <Button onPress={() => answerHere(page)}>{t("link.here")}</Button>
        ) : (
          <Button onPress={() => page.pauseOrResume()}>
            {t(page.running.value ? "pause.on" : "pause.off")}
          </Button>
        )}
      </div>
      <div class="hero-about quiet">
        <LinkWords link={link} page={page} />
      </div>
    </section>
  );
}

function NewVersion({ page }: Props) {
  if (!page.newVersion.value) return null;
  return (
    <Spoken class="notice row">
      {t("version.new")}
      <Button small onPress={() => location.reload()}>
        {t("version.reload")}
      </Button>
    </Spoken>
  );
}

/** A paired browser: its state, and one of four parts below. */
export function DeviceView({ page }: Props) {
  const tab = tabOf(TABS);
  const View = VIEWS[tab];
  return (
    <div class="device">
      <header class="top">
        <Mark size={28} />
        <span class="top-name">crab</span>
      </header>
      <main class="stack">
        <NewVersion page={page} />
        <Hero page={page} />
        <div>
          <Tabs label={t("tabs")} tabs={TABS.map((each) => ({ tab: each, name: t(`tab.${each}`) }))} />
          <View key={tab} page={page} />
        </div>
      </main>
    </div>
  );
}
