import type { Caller, JsonObject, Json, ToolCall } from "@crab/device";
import { cut, visible } from "@crab/web-shared/visible";

import { en } from "../strings/en.js";
import { t } from "../strings/t.js";

type Key = keyof typeof en;
const mostOfAName = 80; // in a sentence

/** A text of this page by a key that was put together, if there is one. */
const known = (key: string): key is Key => key in en;

const short = (name: string): string =>
  visible(name.length > mostOfAName ? `${cut(name, mostOfAName)}…` : name);

/** Who calls, for a headline: the agent's name if there is one, else the principal's. */
export function callerName(caller: Caller): string {
  return short(caller.agent || nameOf(caller.principal)) || t("somebody");
}

/**
 * What the gateway proved, for the line below: `through caller/ci`; empty without anything to
 * add.
 */
export function callerAccount({ principal, agent }: Caller): string {
  return principal === "" || agent === "" ? "" : t("through", { account: principal });
}

function nameOf(principal: string): string {
  return principal.slice(principal.indexOf("/") + 1);
}

/** `Camera`; a tool that this page does not know keeps its name. */
export function toolTitle(name: string): string {
  const key = `tool.${name}`;
  return known(key) ? t(key) : short(name);
}

export function toolHint(name: string): string {
  const key = `hint.${name}`;
  return known(key) ? t(key) : "";
}

/** `planner wants to take a photo`. */
export function asksWords({ tool, caller }: Pick<ToolCall, "tool" | "caller">): string {
  const who = callerName(caller);
  const key = `asks.${tool}`;
  return known(key) ? t(key, { who }) : t("ask.unknown", { who, tool });
}

/** An argument of a call for people: text as it is, `yes` and `no`, what is nested as JSON. */
export function valueWords(value: Json): string {
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Arguments with the words of people: `max side`, `yes`. */
export function argsWords(args: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name.replaceAll("_", " "), valueWords(value)]),
  );
}
