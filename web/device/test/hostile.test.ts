import { type ComponentType, h } from "preact";
import { render } from "preact-render-to-string";
import { signal } from "@preact/signals";
import { describe, expect, it, vi } from "vitest";

import { HOSTILE } from "../../shared/test/hostile";
import { openDialogs, problems, reads, tagsOf } from "../../shared/test/only-text";
import type { DevicePage } from "../src/device-page.js";
import { Answers } from "../src/ui/answers.js";
import { Ask } from "../src/ui/ask.js";
import { Now } from "../src/ui/now.js";
import { asksWords } from "../src/ui/words.js";

vi.mock("@crab/web-shared/dialog", () => openDialogs());
const nothing = () => undefined;

/** A page at which everything that others say is `text`. */
function pageWith(text: string): DevicePage {
  const caller = { principal: text, agent: text };
  const args = { [text]: text };
  const entry = { id: text, tool: text, caller, args, startedAt: 0, at: 0, code: "TOOL_FAILED" };
  const entries = [{ ...entry, phase: "failed", message: text }];
  const call = { id: text, tool: text, caller, args, deadline: Date.now() + 60_000 };
  const title = asksWords(call);
  const question = { call, kind: "consent", title, answer: nothing };
  return {
    calls: signal({ running: () => [{ ...entry, phase: "running" }], ended: () => entries }),
    decisions: signal([{ tool: text, principal: text, agent: text, answer: "always" }]),
    questions: { open: signal([question]) },
    activity: { clear: nothing },
    options: { tools: [] },
  } as unknown as DevicePage;
}

const VIEWS = { Now, Answers, Ask } as const;

describe("two hundred hostile texts at a device (A18)", () => {
  for (const [name, view] of Object.entries(VIEWS))
    it(`are only text in ${name}`, () => {
      const show = (text: string) =>
        render(h(view as ComponentType<{ page: DevicePage }>, { page: pageWith(text) }));
      const allowed = new Set([...tagsOf(show("x".repeat(20_000))), ...tagsOf(show("x"))]);
      for (const more of ["span", "div", "wbr", "dd", "dt"]) allowed.add(more);
      const shown = HOSTILE.map((text) => ({ text, html: show(text) }));
      expect(shown.flatMap(({ html }) => problems(html, allowed))).toEqual([]);
      expect(shown.filter(({ text, html }) => !reads(html, text))).toEqual([]);
    });
});
