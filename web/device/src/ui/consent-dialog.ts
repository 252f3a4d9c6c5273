import { type Answer, type JsonObject, type ToolCall, ToolError } from "@crab/device";

import { notify } from "../tools/notices.js";
import type { PageTool } from "../tools/page-tool.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { callerAccount, callerName, valueWords } from "./words.js";

/**
 * Questions to the person, in one dialog over the page: may this call run, and where the browser
 * wants a tap, that tap. One question at a time; the callers ensure that. A question whose call
 * has ended disappears by itself.
 */
export class ConsentDialog {
  private readonly dialog = h("dialog", {
    class: "ask",
    "aria-labelledby": "ask-title",
    "aria-describedby": "ask-about",
  });
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    parent: Element,
    private readonly toolOf: (name: string) => PageTool | undefined,
  ) {
    parent.append(this.dialog);
  }

  /** The question before a call; for ConsentBook. */
  readonly ask = (call: ToolCall): Promise<Answer> => {
    const tool = this.toolOf(call.tool);
    const choice = (answer: Answer, label: string, style: string) => ({ answer, label, style });
    return this.show<Answer>(call, "no", {
      picture: tool?.icon ?? "spark",
      title: `${callerName(call.caller)} ${tool?.asks ?? `wants to use ${call.tool}`}`,
      text: callerAccount(call.caller),
      choices: [
        choice("once", "Allow once", "primary"),
        choice("session", "Until I close this page", "plain"),
        choice("always", "Always allow", "plain"),
        choice("no", "Not now", "plain"),
        choice("never", "Never", "danger"),
      ],
    });
  };

  /** `Hands.tap`: nothing is asked while the tap on `Allow` still counts. */
  async tap(call: ToolCall, what: string): Promise<void> {
    if (navigator.userActivation?.isActive) return;
    const done = await this.show(call, false, {
      picture: this.toolOf(call.tool)?.icon ?? "spark",
      title: what,
      text: `${callerName(call.caller)} may do this, and your browser wants you to tap for it.`,
      choices: [
        { answer: true, label: "Go on", style: "primary" },
        { answer: false, label: "Not now", style: "plain" },
      ],
    });
    if (!done)
      throw new ToolError(
        "FORBIDDEN",
        "the person at the device said no; do not ask again for the same thing",
      );
  }

  private show<T>(call: ToolCall, fallback: T, question: Question<T>): Promise<T> {
    const answer = this.queue.then(() => this.showNow(call, fallback, question));
    this.queue = answer.catch(() => {});
    return answer;
  }

  private showNow<T>(call: ToolCall, fallback: T, question: Question<T>): Promise<T> {
    if (call.signal.aborted) return Promise.resolve(fallback);
    return new Promise((done) => {
      const close = (answer: T) => {
        this.dialog.onclose = null;
        call.signal.removeEventListener("abort", giveUp);
        if (this.dialog.open) this.dialog.close();
        done(answer);
      };
      const giveUp = () => close(fallback);
      const title = h("h2", { id: "ask-title", tabindex: -1 }, question.title);
      const bar = h("div", { class: "ask-time", "aria-hidden": "true" });
      bar.style.animationDuration = `${Math.max(0, call.deadline - Date.now())}ms`;
      const buttons = question.choices.map(({ answer, label, style }) =>
        h(
          "button",
          { class: `button ${style}`, type: "button", onclick: () => close(answer) },
          label,
        ),
      );
      fill(
        this.dialog,
        bar,
        h(
          "div",
          { class: "ask-head" },
          h("span", { class: "ask-picture" }, icon(question.picture)),
          h("div", {}, title, h("p", { id: "ask-about", class: "quiet" }, question.text)),
        ),
        details(call.args),
        h("div", { class: `ask-choices of-${question.choices.length}` }, ...buttons),
      );
      // The Escape key. The event of the last question's end may come only now; then the dialog is
      // open, with this question.
      this.dialog.onclose = () => this.dialog.open || giveUp();
      call.signal.addEventListener("abort", giveUp, { once: true });
      this.dialog.showModal();
      title.focus();
      if (navigator.userActivation?.hasBeenActive) navigator.vibrate?.(60);
      if (document.hidden)
        void notify(question.title, {
          body: "Open the page to answer.",
          icon: "./icon-192.png",
          tag: "crab-question",
        }).catch(() => {});
    });
  }
}

/** What exactly is asked for, in the caller's words. */
function details(args: JsonObject): HTMLElement | undefined {
  const entries = Object.entries(args);
  if (entries.length === 0) return undefined;
  return h(
    "div",
    { class: "ask-args", tabindex: 0, role: "group", "aria-label": "What it asks for" },
    h(
      "dl",
      {},
      ...entries.map(([name, value]) =>
        h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, valueWords(value))),
      ),
    ),
  );
}

interface Question<T> {
  picture: Parameters<typeof icon>[0];
  title: string;
  text: string;
  choices: Array<{ answer: T; label: string; style: string }>;
}
