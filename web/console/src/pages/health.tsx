import { Card } from "@crab/web-shared/card";
import { CopyButton } from "@crab/web-shared/copy-button";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { bytes, count, moment } from "@crab/web-shared/words";

import { type Fact, Facts } from "../facts";
import {
  commandIn,
  GROUPS,
  type Health as Found,
  type HealthCheck,
  type HealthItem,
  levelOf,
  worstFirst,
} from "../health/shapes";
import { t } from "../health/texts";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { api } from "../store";
import { t as shell } from "../strings/shell";
import "./health.css";

const EVERY_MS = 10_000;
const TONES = { ok: "good", warn: "warn", fail: "bad" } as const;
const TIME = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-][\d:]+)$/;

function Check({ check }: { readonly check: HealthCheck }) {
  const level = levelOf(check.state);
  const command = commandIn(check.fix);
  const words = typeof check.fix === "string" ? check.fix : "";
  return (
    <li class={`health-check ${level}`}>
      <Pill tone={TONES[level]}>{t(`state.${level}`)}</Pill>
      <div>
        <strong>
          <SafeText text={check.id} most={60} />
        </strong>{" "}
        <SafeText text={check.text} />
        {level !== "ok" && words && (
          <div class="row">
            <SafeText text={words} /> {command && <CopyButton text={command} />}
          </div>
        )}
      </div>
    </li>
  );
}

const FACTS = ["bytes", "not_after", "problem", "text", "tools"] as const;

/** What is told of an item, in words where the page has some. */
function factOf(key: string, value: unknown): Fact {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const known = FACTS.find((one) => one === key);
  const name = known ? t(`fact.${known}`) : key;
  if (typeof value === "number") return [name, key === "bytes" ? bytes(value) : count(value)];
  return [name, TIME.test(text) ? moment(text) : text];
}

/** A certificate, a store, a host or a model: its state, and what else the gateway tells of it. */
function Item({ item }: { readonly item: HealthItem }) {
  const { name, state, resting_until: resting, ...rest } = item;
  const level = state === undefined ? undefined : levelOf(state);
  const facts = Object.entries(rest).map(([key, value]) => factOf(key, value));
  return (
    <li>
      <div class="row">
        <strong>
          <SafeText text={name ?? ""} most={100} />
        </strong>
        {state && level && (
          <Pill tone={TONES[level]}>
            <SafeText text={state} most={40} />
          </Pill>
        )}
        {resting && <span class="quiet">{t("resting", { when: moment(resting) })}</span>}
      </div>
      <Facts facts={facts} />
    </li>
  );
}

function Whole({ found }: { readonly found: Found }) {
  const open = found.checks.filter(({ state }) => levelOf(state) !== "ok").length;
  return (
    <div class="stack">
      <Card title={t("checks")}>
        <Spoken>{open === 0 ? t("all") : t("some", { n: open })}</Spoken>
        <ul class="plain">
          {worstFirst(found.checks).map((check) => (
            <Check key={check.id} check={check} />
          ))}
        </ul>
      </Card>
      {GROUPS.map((group) => {
        const items = found[group] ?? [];
        return (
          items.length > 0 && (
            <Card key={group} title={t(group)}>
              <ul class="plain">
                {items.map((item, index) => (
                  <Item key={item.name ?? index} item={item} />
                ))}
              </ul>
            </Card>
          )
        );
      })}
    </div>
  );
}

/** What `crab doctor` asks, from inside the gateway, and what to do about it. */
export default function Health() {
  const poll = usePoll(() => api.get<Found>("/v1/admin/health"), EVERY_MS);
  return (
    <>
      <PageTitle name={shell("page.health")} />
      <Loaded poll={poll}>{(found) => <Whole found={found} />}</Loaded>
    </>
  );
}
