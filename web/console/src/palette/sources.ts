import { useEffect, useState } from "preact/hooks";

import { themeName } from "@crab/web-shared/looks";
import { theme, THEMES } from "@crab/web-shared/preferences";

import { type DeviceList, slugOf } from "../devices/shapes";
import { addressOf, visit } from "../place";
import { ROUTES } from "../routes";
import { api } from "../store";
import { t } from "../strings/shell";
import { type ToolPage, toolsPath } from "../tool-pages";
import type { Entry } from "./fuzzy";

const TYPING_MS = 200;

const to =
  (page: string, members: Readonly<Record<string, string>> = {}) =>
  () =>
    visit(addressOf(page, members));

/** What is always there: pages and actions. */
function fixed(): Entry[] {
  const pages = ROUTES.map(({ page }): Entry => ({
    kind: "page",
    name: t(`page.${page}`),
    run: to(page),
  }));
  const action = (name: string, run: () => void): Entry => ({ kind: "action", name, run });
  return [
    ...pages,
    action(t("palette.pair"), to("devices", { pair: "1" })),
    action(t("palette.reload"), to("settings")),
    action(t("palette.verify"), to("audit")),
    ...THEMES.map((one) =>
      action(t("palette.theme", { name: themeName(one) }), () => (theme.value = one)),
    ),
  ];
}

/** Devices and principals, read once the palette opens. */
async function known(): Promise<Entry[]> {
  const [devices, principals] = await Promise.allSettled([
    api.get<DeviceList>("/v1/admin/devices"),
    api.get<{ principals: readonly { id: string }[] }>("/v1/admin/principals"),
  ]);
  const found: Entry[] = [];
  if (devices.status === "fulfilled")
    for (const row of devices.value.devices)
      found.push({
        kind: "device",
        name: row.name || slugOf(row),
        run: to("devices", { device: slugOf(row) }),
      });
  if (principals.status === "fulfilled")
    for (const { id } of principals.value.principals)
      found.push({ kind: "principal", name: id, run: to("policy", { tab: "matrix", as: id }) });
  return found;
}

/** Tools are searched by the gateway: there may be 100 000. */
async function toolsLike(typed: string): Promise<Entry[]> {
  const { tools } = await api.get<ToolPage>(toolsPath({ q: typed, source: "", state: "" }, 0));
  return tools.slice(0, 20).map(({ name, qualified_name }): Entry => ({
    kind: "tool",
    name,
    run: to("tools", { tool: qualified_name || name }),
  }));
}

/** All that may be found for what is typed; more comes as it is read. */
export function useEntries(typed: string): readonly Entry[] {
  const [others, setOthers] = useState<readonly Entry[]>([]);
  const [tools, setTools] = useState<readonly Entry[]>([]);
  useEffect(() => void known().then(setOthers), []);
  useEffect(() => {
    let over = false;
    setTools([]);
    if (typed.trim().length < 2) return undefined;
    const timer = setTimeout(() => {
      toolsLike(typed.trim()).then(
        (found) => {
          if (!over) setTools(found);
        },
        () => undefined, // pages and devices are found all the same
      );
    }, TYPING_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [typed]);
  return [...fixed(), ...others, ...tools];
}
