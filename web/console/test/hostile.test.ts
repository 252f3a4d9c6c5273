import { type ComponentType, h, type VNode } from "preact";
import { render } from "preact-render-to-string";
import { beforeAll, describe, expect, it, vi } from "vitest";

import { HOSTILE } from "../../shared/test/hostile";
import { problems, reads, tagsOf } from "../../shared/test/only-text";

/** What a component shows when a text of it is `text`. */
type Show = (text: string) => VNode;
const shows: Record<string, Show> = {};
/** Elements that Markdown may make of a text. */
const MARKDOWN =
  "a button code div em li ol p pre span strong svg path table tbody td th thead tr ul";

const of = <Props extends object>(component: ComponentType<Props>, props: NoInfer<Props>): VNode =>
  h(component as ComponentType<object>, props);
const nothing = () => undefined;

function call(text: string) {
  const texts = { tool: text, principal: text, agent: text, code: text, message: text, rule: text };
  return { ...texts, call_id: text, time: text, status: "error", session: text, source: text };
}

beforeAll(async () => {
  const storage = { getItem: () => null, setItem: nothing, removeItem: nothing };
  vi.stubGlobal("localStorage", storage);
  vi.stubGlobal("location", { search: "", pathname: "/console/", hostname: "localhost" });
  vi.stubGlobal("addEventListener", nothing);
  const { SafeText } = await import("@crab/web-shared/safe-text");
  const { ErrorCard } = await import("@crab/web-shared/error-card");
  const { ConsentCard } = await import("@crab/web-shared/consent-card");
  const { Facts } = await import("../src/facts");
  const { DiffView } = await import("../src/diff-view");
  const { JsonTree } = await import("../src/try/json-tree");
  const { ResultView } = await import("../src/try/result-view");
  const { CallDetail } = await import("../src/calls/call-detail");
  const { EndedRow, RunningRow } = await import("../src/calls/rows");
  const { TraceView } = await import("../src/policy/trace-view");
  const { WaitingTools } = await import("../src/devices/waiting-tools");
  const { Revoke } = await import("../src/devices/revoke");
  const { PasskeyRow } = await import("../src/passkeys/passkeys");
  const { SubscriptionRow } = await import("../src/push/push-card");
  const { Leases } = await import("../src/peers/leases");
  const { SessionRow } = await import("../src/sessions/session-row");
  const { Thumbnail } = await import("../src/artifacts/thumbnail");
  const { ToolCard } = await import("../src/chat/tool-card");
  const { AskCard } = await import("../src/chat/ask-card");
  const { Items } = await import("../src/chat/items");
  const { ApiError } = await import("../src/api");
  const { CallView } = await import("../src/try/result-view");
  const { Toasts, toast } = await import("@crab/web-shared/toast");
  const { Markdown } = await import("../src/chat/markdown-view");
  const { received, restored, emptyChat } = await import("../src/chat/frames");

  shows["SafeText"] = (text) => of(SafeText, { text, lines: true });
  shows["ErrorCard"] = (text) =>
    of(ErrorCard, { error: { code: text, message: text, next: text }, onRetry: nothing });
  shows["ConsentCard"] = (text) =>
    of(ConsentCard, {
      question: { tool: text, account: text, claims: text, args: { [text]: text }, because: text },
      answers: [{ answer: "allow", label: "Allow" }],
      onAnswer: nothing,
    });
  shows["Facts"] = (text) => of(Facts, { facts: [["Name", text]] });
  shows["DiffView"] = (text) => of(DiffView, { label: text, before: text, after: `${text}\n+` });
  shows["JsonTree"] = (text) => of(JsonTree, { value: { [text]: [text, { [text]: text }] } });
  shows["ResultView"] = (text) => of(ResultView, { result: [{ [text]: text }] });
  shows["ResultView of a text"] = (text) => of(ResultView, { result: text });
  shows["CallDetail"] = (text) => of(CallDetail, { call: call(text) });
  shows["EndedRow"] = (text) => of(EndedRow, { call: call(text), open: true });
  shows["RunningRow"] = (text) =>
    of(RunningRow, { call: { ...call(text), stage: "asked", elapsed_ms: 1 } });
  shows["TraceView"] = (text) =>
    of(TraceView, {
      found: {
        verdict: text,
        rule: text,
        steps: [{ rule: text, effect: text, matched: true, because: text }],
        then: [{ check: "schema", text }],
      },
    });
  shows["WaitingTools"] = (text) =>
    of(WaitingTools, { device: text, tools: [{ name: text, schema: { text } }], again: nothing });
  shows["Revoke"] = (text) =>
    of(Revoke, { what: { token_id: text }, name: text, ends: 1, again: nothing });
  shows["PasskeyRow"] = (text) =>
    of(PasskeyRow, {
      passkey: { key_id: text, id: text, label: text, created_at: text, last_used_at: text },
      again: nothing,
    });
  shows["SubscriptionRow"] = (text) =>
    of(SubscriptionRow, {
      row: { id: text, principal: text, service: text, created_at: text, yours: true },
      again: nothing,
    });
  shows["Leases"] = (text) =>
    of(Leases, {
      again: nothing,
      leases: [
        {
          lease_id: text,
          owner_component_type: text,
          owner_component_id: text,
          tenant_id: text,
          agent_id: text,
          session_id: text,
          capabilities_json: [text],
          disconnect_bound: true,
          expires_at: text,
        },
      ],
    });
  shows["SessionRow"] = (text) =>
    of(SessionRow, {
      again: nothing,
      session: {
        session_id: text,
        name: text,
        persona: text,
        created_at: text,
        last_activity: "2026-01-01T00:00:00Z",
        message_count: 1,
      },
    });
  shows["Thumbnail"] = (text) =>
    of(Thumbnail, {
      artifact: {
        id: text,
        href: text,
        content_type: text,
        bytes: 1,
        owner: text,
        tool: text,
        call_id: text,
        created_at: text,
        expires_at: text,
      },
    });
  shows["ToolCard"] = (text) =>
    of(ToolCard, {
      tool: { kind: "tool", key: 1, id: text, name: text, args: text, output: text, begun: 0 },
    });
  shows["AskCard"] = (text) =>
    of(AskCard, {
      onAnswer: nothing,
      ask: {
        kind: "ask",
        key: 1,
        ids: { request_id: text, turn_id: text, tool_call_id: text },
        form: "multi_select",
        question: text,
        options: [{ id: text, label: text }],
        state: "open",
      },
    });
  shows["Items"] = (text) => {
    let chat = restored(emptyChat("s"), [{ role: "user", content: text }]);
    for (const type of ["agent_start", "thinking", "error"])
      chat = received(chat, { type, content: text, message: text, code: text }, 0);
    return of(Items, { chat, onAnswer: nothing });
  };
  shows["CallView of a failure"] = (text) => {
    const error = new ApiError(500, text, text, text);
    return of(CallView, { call: { state: "failed", callId: text, error } });
  };
  shows["Toasts"] = (text) => {
    toast({ text, undo: nothing });
    return of(Toasts, {});
  };
  shows["Markdown"] = (text) => of(Markdown, { text });
});

const NAMES = [
  "SafeText",
  "ErrorCard",
  "ConsentCard",
  "Facts",
  "DiffView",
  "JsonTree",
  "ResultView",
  "ResultView of a text",
  "CallDetail",
  "EndedRow",
  "RunningRow",
  "TraceView",
  "WaitingTools",
  "Revoke",
  "Leases",
  "SessionRow",
  "Thumbnail",
  "ToolCard",
  "AskCard",
  "Items",
  "PasskeyRow",
  "SubscriptionRow",
  "CallView of a failure",
  "Toasts",
  "Markdown",
];
/** Where a text becomes something else (Markdown, lines of a diff) or is a button's name. */
const NOT_WHOLE = new Set(["Markdown", "Items", "DiffView", "Revoke"]);

describe("two hundred hostile texts (A18)", () => {
  it("are that many, all different", () => {
    expect(HOSTILE).toHaveLength(200);
    expect(new Set(HOSTILE).size).toBe(200);
  });

  for (const name of NAMES)
    it(`are only text in ${name}`, () => {
      const show = shows[name] as Show;
      // A long text shows what else the component has: the button for more of it.
      const allowed = new Set([
        ...tagsOf(render(show("x".repeat(20_000)))),
        ...tagsOf(render(show("x"))),
      ]);
      allowed.add("span"); // an unseen character, named
      allowed.add("div"); // a line of a text, where lines are shown
      allowed.add("wbr"); // where a code may break
      if (name === "Markdown") for (const tag of MARKDOWN.split(" ")) allowed.add(tag);
      const shown = HOSTILE.map((text) => ({ text, html: render(show(text)) }));
      const found = shown.flatMap(({ text, html }) =>
        problems(html, allowed).map((what) => `${what}: ${text.slice(0, 60)}`),
      );
      expect(found).toEqual([]);
      if (NOT_WHOLE.has(name)) return;
      expect(shown.filter(({ text, html }) => !reads(html, text))).toEqual([]);
    });
});
