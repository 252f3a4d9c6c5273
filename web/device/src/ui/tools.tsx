import { Card } from "@crab/web-shared/card";
import { Switch } from "@crab/web-shared/switch";
import { useEffect, useState } from "preact/hooks";

import type { DevicePage } from "../device-page.js";
import { t } from "../strings/t.js";
import { lackOf, type PageTool } from "../tools/page-tool.js";
import { Sign } from "./signs.js";
import { toolHint, toolTitle } from "./words.js";

interface Props {
  readonly tool: PageTool;
  readonly page: DevicePage;
}

/** Whether the browser's own settings forbid it: told before a call fails. */
function useBlocked({ permission }: PageTool): boolean {
  const [blocked, set] = useState(false);
  useEffect(() => {
    let status: PermissionStatus | undefined;
    const look = () => set(status?.state === "denied");
    if (permission === undefined) return undefined;
    void navigator.permissions?.query({ name: permission as PermissionName }).then(
      (found) => {
        status = found;
        status.addEventListener("change", look);
        look();
      },
      () => undefined, // a browser without that permission
    );
    return () => status?.removeEventListener("change", look);
  }, [permission]);
  return blocked;
}

/** A tool and its switch; one that this browser cannot offer is there too, off, with the reason. */
function Row({ tool, page }: Props) {
  const blocked = useBlocked(tool);
  const lack = lackOf(tool) ?? (blocked ? ("blocked" as const) : undefined);
  const cannot = lack !== undefined && lack !== "blocked";
  const hint = (
    <>
      {toolHint(tool.name)}
      {lack && <span class="lack">{t(`lack.${lack}`)}</span>}
    </>
  );
  return (
    <li class="tool">
      <Sign name={tool.icon} />
      <Switch
        id={`tool-${tool.name}`}
        on={page.isOn(tool)}
        off={cannot}
        hint={hint}
        onChange={(on) => page.switchTool(tool, on)}
      >
        {toolTitle(tool.name)}
      </Switch>
    </li>
  );
}

function Rows({ tools, page }: { readonly tools: PageTool[]; readonly page: DevicePage }) {
  return (
    <ul class="tools">
      {tools.map((tool) => (
        <Row key={tool.name} tool={tool} page={page} />
      ))}
    </ul>
  );
}

/** What this device offers, and what it cannot. */
export function Tools({ page }: { readonly page: DevicePage }) {
  const { tools } = page.options;
  const here = tools.filter((tool) => lackOf(tool) === undefined);
  const lacking = tools.filter((tool) => lackOf(tool) !== undefined);
  const on = here.filter((tool) => page.isOn(tool)).length;
  const count = <span class="quiet">{t("tools.count", { on, n: here.length })}</span>;
  return (
    <div class="stack">
      <Card title={t("tools.title")} actions={count}>
        <Rows tools={here} page={page} />
      </Card>
      {lacking.length > 0 && (
        <Card title={t("tools.lacking")}>
          <Rows tools={lacking} page={page} />
        </Card>
      )}
    </div>
  );
}
