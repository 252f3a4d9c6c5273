import { useCallback, useState } from "preact/hooks";

import { Card } from "@crab/web-shared/card";
import { TextField } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { Switch } from "@crab/web-shared/switch";
import { visible } from "@crab/web-shared/visible";
import { moment } from "@crab/web-shared/words";

import { Wishes } from "../keys";
import { Loaded, usePoll } from "../loaded";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { FileCheck } from "../settings/file-check";
import {
  type Config,
  type ConfigEntry,
  differs,
  entriesWith,
  sectionOf,
  shownValue,
} from "../settings/shapes";
import { t } from "../settings/texts";
import { api } from "../store";
import { t as shell } from "../strings/shell";
import "./settings.css";

const EVERY_MS = 30_000;

function Row({ entry }: { readonly entry: ConfigEntry }) {
  const value = shownValue(entry);
  return (
    <tr>
      <th scope="row" class="setting-key">
        <SafeText text={entry.key} most={120} />
      </th>
      <td>
        {entry.secret ? (
          value && <span aria-label={t("secret.set")}>{value}</span>
        ) : (
          <SafeText text={value} most={200} />
        )}
        {differs(entry) && !entry.secret && entry.default !== undefined && (
          <div class="quiet">
            {t("default.is", { value: shownValue({ key: "", value: entry.default }) })}
          </div>
        )}
      </td>
      <td class="number">
        {entry.line ? <span class="quiet">{t("line", { line: String(entry.line) })} </span> : null}
        {entry.restart && <Pill>{t("restart")}</Pill>}
      </td>
    </tr>
  );
}

function Entries({ config }: { readonly config: Config }) {
  const [changed, setChanged] = useState(false);
  const q = place.value.get("q") ?? "";
  const found = entriesWith(config.entries, q, changed);
  const sections = [...new Set(found.map(sectionOf))];
  return (
    <Card>
      <p class="quiet">
        <SafeText text={config.path} most={200} />
        {config.loaded_at && `, ${t("loaded", { when: moment(config.loaded_at) })}`}
      </p>
      <div class="setting-filter" role="search">
        <TextField
          type="search"
          label={t("filter")}
          value={q}
          most={200}
          onValue={(text) => go({ q: text }, true)}
        />
        <Switch on={changed} onChange={setChanged}>
          {t("only.changed")}
        </Switch>
      </div>
      <Spoken class="quiet">{t("shown", { n: found.length })}</Spoken>
      {sections.map((section) => (
        <section key={section} aria-label={visible(section)}>
          <h3>
            <SafeText text={section} most={80} />
          </h3>
          <table class="settings">
            <tbody>
              {found
                .filter((entry) => sectionOf(entry) === section)
                .map((entry) => (
                  <Row key={entry.key} entry={entry} />
                ))}
            </tbody>
          </table>
        </section>
      ))}
    </Card>
  );
}

/** What the gateway runs with, read only; and what this browser wishes. */
export default function Settings() {
  const poll = usePoll(() => api.get<Config>("/v1/admin/config"), EVERY_MS);
  const again = useCallback(() => void poll.again(), [poll]);
  return (
    <>
      <PageTitle name={shell("page.settings")} />
      <div class="stack">
        <FileCheck again={again} />
        <Loaded poll={poll}>{(config) => <Entries config={config} />}</Loaded>
        <Card title={t("looks")}>
          <Wishes />
        </Card>
      </div>
    </>
  );
}
