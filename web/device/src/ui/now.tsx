import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { nowEachSecond } from "@crab/web-shared/now";
import { type Tone, Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { distance, moment } from "@crab/web-shared/words";

import type { Entry } from "../activity.js";
import type { DevicePage } from "../device-page.js";
import { t } from "../strings/t.js";
import { Sign } from "./signs.js";
import { argsWords, callerAccount, callerName, toolTitle } from "./words.js";

interface RowProps {
  readonly entry: Entry;
  readonly page: DevicePage;
}

function Ago({ at }: { readonly at: number }) {
  nowEachSecond();
  return <>{distance(new Date(at).toISOString())}</>;
}

const TONES: Record<Entry["phase"], Tone> = {
  waiting: "warn",
  running: "plain",
  ok: "good",
  failed: "bad",
  cancelled: "plain",
};

function phaseWords({ phase, code }: Entry): string {
  if (phase !== "failed") return t(`phase.${phase}`);
  return code === "FORBIDDEN" ? t("phase.refused") : (code ?? t("phase.failed"));
}

/** Everything that is known of a call, by terms. */
function Facts({ entry }: { readonly entry: Entry }) {
  const { caller, args = {}, given, code, message } = entry;
  const wanted = Object.entries(argsWords(args)).map(([name, value]) => `${name}: ${value}`);
  const facts: [string, string | undefined][] = [
    [t("call.code"), code && [code, message].filter(Boolean).join(": ")],
    [t("call.gave"), entry.phase === "ok" ? given?.words : undefined],
    [t("call.args"), wanted.join("\n")],
    [t("call.who"), [callerName(caller), callerAccount(caller)].filter(Boolean).join(", ")],
    [t("call.began"), moment(new Date(entry.startedAt).toISOString())],
    [t("call.tool"), entry.tool],
  ];
  return (
    <>
      {entry.remembered && <p>{t("call.always")}</p>}
      <dl class="facts">
        {facts.map(
          ([term, text]) =>
            text && (
              <div key={term}>
                <dt>{term}</dt>
                <dd>
                  <SafeText text={text} lines />
                </dd>
              </div>
            ),
        )}
      </dl>
    </>
  );
}

/** A call in a line; it opens to all that is known of it. */
function Row({ entry, page }: RowProps) {
  const tool = page.options.tools.find(({ name }) => name === entry.tool);
  const { given } = entry;
  return (
    <li class={`call ${entry.phase}`}>
      <details>
        <summary>
          {given?.picture === undefined ? (
            <Sign name={tool?.icon ?? "spark"} />
          ) : (
            <img class="sign" src={given.picture} alt={t("call.photo")} />
          )}
          <span class="call-text">
            <strong>{toolTitle(entry.tool)}</strong>
            {given && entry.phase === "ok" && (
              <span class="given">
                <SafeText text={given.words} most={120} />
              </span>
            )}
            <span class="quiet">
              {callerName(entry.caller)} · <Ago at={entry.startedAt} />
            </span>
          </span>
          <Pill tone={TONES[entry.phase]}>{phaseWords(entry)}</Pill>
        </summary>
        <Facts entry={entry} />
      </details>
    </li>
  );
}

function Rows({ entries, page, none }: Omit<RowProps, "entry"> & { entries: Entry[]; none: string }) {
  if (entries.length === 0) return <p class="quiet">{none}</p>;
  return (
    <ul class="calls">
      {entries.map((entry) => (
        <Row key={`${entry.id} ${entry.startedAt}`} entry={entry} page={page} />
      ))}
    </ul>
  );
}

/** The calls that run and the last ones that ended. */
export function Now({ page }: { readonly page: DevicePage }) {
  const running = page.calls.value.running();
  const ended = page.calls.value.ended();
  const clear = ended.length > 0 && (
    <Button small kind="bare" onPress={() => page.activity.clear()}>
      {t("now.forget")}
    </Button>
  );
  return (
    <div class="stack">
      <Card title={t("now.running")}>
        <Rows entries={running} page={page} none={t("now.running.none")} />
      </Card>
      <Card title={t("now.ended")} actions={clear}>
        <Rows entries={ended} page={page} none={t("now.ended.none")} />
      </Card>
    </div>
  );
}
