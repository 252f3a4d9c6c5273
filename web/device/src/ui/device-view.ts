import type { Decision, DeviceEvent } from "@crab/device";

import type { Activity, Entry } from "../activity.js";
import type { PageTool } from "../tools/page-tool.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { mark } from "./mark.js";
import { ago, callerAccount, callerName } from "./words.js";

/** Actions of the view. */
export interface DeviceActions {
  /** Offer the tool, or take it away. */
  switchTool(name: string, on: boolean): void;
  forget(decision: Decision): void;
  pauseOrResume(): void;
  /** Put the page on the home screen; only asked while showInstall() said that it can be. */
  install(): void;
  unpair(): void;
}

export interface DeviceViewOptions {
  gateway: string;
  name: string;
  tools: readonly PageTool[];
  isOn: (tool: PageTool) => boolean;
  actions: DeviceActions;
}

/**
 * The view of a paired browser: connection state, running calls, tools, lasting answers, last
 * calls.
 */
export class DeviceView {
  readonly element: HTMLElement;
  private readonly link = h("p", { class: "link", role: "status" });
  private readonly about = h("p", { class: "hero-about" });
  private readonly pause = h("button", { class: "button plain small", type: "button" }, "Pause");
  private readonly running = h("ul", { class: "calls" });
  private readonly ended = h("ul", { class: "calls" });
  private readonly decisions = h("ul", { class: "decisions" });
  private readonly counter = h("span", { class: "count" });
  private readonly install = h(
    "button",
    { class: "button link-like", type: "button", hidden: true },
    "Put it on the home screen",
  );

  constructor(private readonly options: DeviceViewOptions) {
    this.pause.addEventListener("click", () => options.actions.pauseOrResume());
    this.install.addEventListener("click", () => options.actions.install());
    this.element = h(
      "div",
      { class: "device" },
      h(
        "header",
        { class: "top" },
        mark("top-mark"),
        h("span", { class: "top-name" }, "crab"),
        this.link,
      ),
      h(
        "main",
        { class: "columns" },
        h(
          "div",
          { class: "column" },
          h(
            "section",
            { class: "card hero", "aria-label": "This device" },
            h("h1", {}, options.name),
            this.about,
            this.pause,
          ),
          section("Running now", this.running),
          section("Last calls", this.ended),
        ),
        h(
          "div",
          { class: "column" },
          section("What this device offers", this.toolList(), this.counter),
          section("Your answers so far", this.decisions),
        ),
      ),
      h(
        "footer",
        { class: "foot quiet" },
        h("span", { class: "foot-host" }, `Gateway ${new URL(options.gateway).host}`),
        this.install,
        h(
          "button",
          { class: "button link-like", type: "button", onclick: () => this.confirmUnpair() },
          "Unpair this device",
        ),
      ),
    );
    this.countTools();
  }

  showLink(event: DeviceEvent | { kind: "elsewhere" }, now: number): void {
    const { state, text, about } = wordsOf(event, now);
    this.link.dataset["state"] = state;
    this.link.textContent = text;
    this.about.textContent = about;
    this.pause.textContent = state === "off" ? "Go on" : "Pause";
  }

  showInstall(can: boolean): void {
    this.install.hidden = !can;
  }

  showActivity(activity: Activity, now: number): void {
    const running = activity.running();
    fillList(
      this.running,
      running.map((entry) => this.call(entry, now)),
      "Nothing. Agents call when they need something.",
    );
    fillList(
      this.ended,
      activity.ended().map((entry) => this.call(entry, now)),
      "No calls yet.",
    );
    document.title = running.length > 0 ? `(${running.length}) crab device` : "crab device";
  }

  showDecisions(decisions: readonly Decision[]): void {
    const words = { session: "until this page is closed", always: "always", never: "never" };
    fillList(
      this.decisions,
      decisions.map((decision) => {
        const title =
          this.options.tools.find((tool) => tool.name === decision.tool)?.title ?? decision.tool;
        const who = callerName(decision);
        return h(
          "li",
          { class: "decision" },
          h(
            "span",
            { class: `badge ${decision.answer === "never" ? "no" : "yes"}` },
            icon(decision.answer === "never" ? "cross" : "check"),
          ),
          h(
            "span",
            { class: "decision-text" },
            h("strong", {}, `${who} · ${title}`),
            h(
              "span",
              { class: "quiet" },
              [words[decision.answer], callerAccount(decision)].filter(Boolean).join(", "),
            ),
          ),
          h(
            "button",
            {
              class: "button plain small",
              type: "button",
              "aria-label": `Forget the answer for ${who}, ${title}`,
              onclick: () => this.options.actions.forget(decision),
            },
            "Forget",
          ),
        );
      }),
      "None that lasts. You are asked for every call.",
    );
  }

  private toolList(): HTMLElement {
    const { tools, isOn, actions } = this.options;
    return h(
      "ul",
      { class: "tools" },
      ...tools.map((tool) => {
        const box = h("input", {
          type: "checkbox",
          role: "switch",
          class: "switch",
          checked: isOn(tool),
          id: `tool-${tool.name}`,
          onchange: () => {
            actions.switchTool(tool.name, box.checked);
            this.countTools();
          },
        });
        const hint = h("span", { class: "quiet", id: `hint-${tool.name}` }, tool.hint);
        box.setAttribute("aria-describedby", hint.id);
        void tellWhenBlocked(tool, hint);
        return h(
          "li",
          {},
          h(
            "label",
            { class: "tool", for: box.id },
            h("span", { class: "tool-picture" }, icon(tool.icon)),
            h("span", { class: "tool-text" }, h("strong", {}, tool.title), hint),
            box,
          ),
        );
      }),
    );
  }

  private countTools(): void {
    const { tools, isOn } = this.options;
    this.counter.textContent = `${tools.filter(isOn).length} of ${tools.length}`;
  }

  private call(entry: Entry, now: number): HTMLElement {
    const tool = this.options.tools.find((each) => each.name === entry.tool);
    const phases = {
      waiting: "waits for you",
      running: "running",
      ok: "done",
      failed: entry.code === "FORBIDDEN" ? "refused" : (entry.code ?? "failed"),
      cancelled: "cancelled",
    };
    return h(
      "li",
      {
        class: `call ${entry.phase}`,
        ...(entry.message !== undefined && { title: entry.message }),
      },
      entry.given?.picture !== undefined
        ? h("img", {
            class: "tool-picture",
            src: entry.given.picture,
            alt: "The photo that was given",
          })
        : h("span", { class: "tool-picture" }, icon(tool?.icon ?? "spark")),
      h(
        "span",
        { class: "tool-text" },
        h("strong", {}, tool?.title ?? entry.tool),
        entry.given !== undefined &&
          entry.phase === "ok" &&
          h("span", { class: "given" }, entry.given.words),
        h(
          "span",
          { class: "quiet" },
          `${callerName(entry.caller)} · ${ago(now - entry.startedAt)}`,
        ),
      ),
      h("span", { class: "phase" }, phases[entry.phase]),
    );
  }

  private confirmUnpair(): void {
    const dialog = h(
      "dialog",
      { class: "ask", "aria-labelledby": "unpair-title" },
      h("h2", { id: "unpair-title" }, "Unpair this device?"),
      h(
        "p",
        { class: "quiet" },
        "The page forgets who it is and agents can no longer reach it. Your answers stay. The " +
          "operator can forget this device too: crab devices revoke.",
      ),
      h(
        "div",
        { class: "ask-choices of-2" },
        h(
          "button",
          {
            class: "button danger",
            type: "button",
            onclick: () => {
              dialog.close();
              this.options.actions.unpair();
            },
          },
          "Unpair",
        ),
        h(
          "button",
          { class: "button plain", type: "button", onclick: () => dialog.close() },
          "Keep it",
        ),
      ),
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}

function section(title: string, list: HTMLElement, beside?: HTMLElement): HTMLElement {
  const heading = h("h2", {}, title);
  return h("section", { class: "card" }, h("div", { class: "card-head" }, heading, beside), list);
}

function fillList(list: HTMLUListElement, items: HTMLElement[], empty: string): void {
  fill(list, ...(items.length > 0 ? items : [h("li", { class: "empty quiet" }, empty)]));
}

/** Shows what the browser's own settings forbid before a call fails. */
async function tellWhenBlocked(tool: PageTool, hint: HTMLElement): Promise<void> {
  if (tool.permission === undefined) return;
  const status = await navigator.permissions
    ?.query({ name: tool.permission as PermissionName })
    .catch(() => undefined);
  if (!status) return;
  const show = () => {
    hint.textContent = status.state === "denied" ? "Blocked in the browser's settings" : tool.hint;
    hint.classList.toggle("blocked", status.state === "denied");
  };
  status.addEventListener("change", show);
  show();
}

function wordsOf(
  event: DeviceEvent | { kind: "elsewhere" },
  now: number,
): { state: "on" | "busy" | "off"; text: string; about: string } {
  switch (event.kind) {
    case "connecting":
      return { state: "busy", text: "Connecting", about: "Looking for the gateway." };
    case "connected": {
      const refused =
        event.rejected.length > 0
          ? ` The gateway refused ${event.rejected.map((each) => each.name).join(", ")}.`
          : "";
      return {
        state: "on",
        text: "Connected",
        about: `Agents can ask this device. Keep the page open to answer.${refused}`,
      };
    }
    case "lost":
      return {
        state: "busy",
        text: "Reconnecting",
        about: `${event.why}; next try at ${new Date(now + event.retryInMs).toLocaleTimeString()}.`,
      };
    case "notice":
      return { state: "on", text: "Connected", about: event.message };
    case "ended":
      return event.end.reason === "stopped"
        ? { state: "off", text: "Paused", about: "Agents cannot reach this device." }
        : { state: "off", text: "Away", about: event.end.message };
    case "elsewhere":
      return {
        state: "off",
        text: "Open elsewhere",
        about: "Another tab of this browser answers for the device.",
      };
  }
}
