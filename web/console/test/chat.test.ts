import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../src/api";
import { type Chat, emptyChat, received, restored } from "../src/chat/frames";
import { chatAddress, ChatLink } from "../src/chat/link";
import { httpAddress, inline, markdown, namesAnotherHost, pieces } from "../src/chat/markdown";

const after = (...frames: object[]): Chat =>
  frames.reduce((chat: Chat, frame) => received(chat, frame as never, 5), emptyChat("s"));
const said = (chat: Chat) =>
  chat.items.map((item) => `${item.kind}:${"text" in item ? item.text : ""}`);
const start = { type: "agent_start", model: "m" };

describe("the frames of a turn", () => {
  it("become texts, thoughts and cards in their order", () => {
    const chat = after(
      start,
      { type: "thinking", content: "hm" },
      { type: "chunk", content: "a" },
      { type: "chunk", content: "b" },
      { type: "tool_call", id: "1", name: "x", args: { y: 1 }, call_id: "c1" },
      { type: "tool_result", id: "1", name: "x", output: "out" },
      { type: "chunk", content: "c" },
      { type: "chunk_reset" },
      { type: "done", full_response: "abc" },
    );
    expect(said(chat)).toEqual(["thought:hm", "answer:ab", "tool:", "answer:c"]);
    expect(chat.items[2]).toMatchObject({ output: "out", callId: "c1", ended: 5 });
    expect(chat.running).toBe(false);
  });

  it("end with the whole text where not all of it came", () => {
    const chat = after(
      start,
      { type: "chunk", content: "b" },
      { type: "done", full_response: "abc" },
    );
    expect(said(chat)).toEqual(["answer:abc"]);
  });

  it("leave what earlier turns have said", () => {
    const done = (full_response: string) => ({ type: "done", full_response });
    const chat = after(start, { type: "chunk", content: "one" }, done("one"), start, done("two"));
    expect(said(chat)).toEqual(["answer:one", "answer:two"]);
  });

  it("tell how they end: stopped, or with the error's code", () => {
    expect(after(start, { type: "aborted" }).items[0]).toMatchObject({ code: "ABORTED" });
    const error = after(start, { type: "error", code: "PROVIDER_ERROR", message: "down" });
    expect(error.items[0]).toMatchObject({ kind: "note", code: "PROVIDER_ERROR", text: "down" });
    expect(error.running).toBe(false);
  });

  it("ask the person once, though the question is sent again after a lost link", () => {
    const ask = {
      type: "ask_user_request",
      request_id: "r",
      turn_id: "t",
      tool_call_id: "c",
      kind: "single_select",
      question: "Which?",
      options: [{ id: "a", label: "A" }],
    };
    const chat = after(start, ask, ask);
    expect(chat.items).toHaveLength(1);
    const ack = (status: string) => ({ type: "ask_user_ack", request_id: "r", status });
    expect(received(chat, ack("rejected"), 0).items[0]).toMatchObject({ state: "open" });
    expect(received(chat, ack("not_pending"), 0).items[0]).toMatchObject({ state: "over" });
  });

  it("of an unknown kind, or without their fields, change nothing and break nothing", () => {
    expect(after({ type: "new_thing" })).toEqual(emptyChat("s"));
    for (const type of ["chunk", "tool_call", "tool_result", "done", "error", "ask_user_request"])
      expect(() => after(start, { type, args: null, options: "x" })).not.toThrow();
  });

  it("follow what was stored", () => {
    const chat = restored(emptyChat("s"), [
      { role: "user", content: "q" },
      { role: "assistant", content: "a" },
    ]);
    expect(said(chat)).toEqual(["user:q", "answer:a"]);
    expect(new Set(chat.items.map(({ key }) => key)).size).toBe(2);
  });
});

class FakeSocket {
  static all: FakeSocket[] = [];
  readyState = 1;
  sent: { type: string; content?: string }[] = [];
  onopen = () => undefined;
  onmessage = (_: { data: string }) => undefined;
  onclose = (_: { code: number; reason: string }) => undefined;
  constructor(
    readonly address: string,
    readonly protocols: string[],
  ) {
    FakeSocket.all.push(this);
  }
  send(data: string) {
    this.sent.push(JSON.parse(data) as { type: string });
  }
  close() {
    this.onclose({ code: 1000, reason: "" });
  }
}

describe("the link of a chat", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("location", { href: "http://127.0.0.1:9/console/?page=chat#x" });
    FakeSocket.all = [];
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const linked = async () => {
    let tickets = 0;
    const api = {
      get: () => Promise.reject(new ApiError(404, "NOT_FOUND", "")),
      ticket: async () => `t${++tickets}`,
    };
    const open = (address: string, protocols: string[]) =>
      new FakeSocket(address, protocols) as unknown as WebSocket;
    const link = new ChatLink(api, "s1", "butler", open);
    link.start();
    await vi.advanceTimersByTimeAsync(0);
    return link;
  };
  const socket = (index: number) => FakeSocket.all[index] as FakeSocket;

  it("is opened by a ticket that the address does not hold", async () => {
    await linked();
    expect(socket(0).protocols).toEqual(["crab-ticket.t1", "clawseed.v1"]);
    expect(socket(0).address).toBe(
      "ws://127.0.0.1:9/console/api/ws/chat?session_id=s1&persona=butler",
    );
    expect(chatAddress("https://h/console/", "a b", "")).toBe(
      "wss://h/console/api/ws/chat?session_id=a+b",
    );
  });

  it("sends nothing while it is down, and nothing by itself once it is back", async () => {
    const link = await linked();
    expect(link.say("early")).toBe(false);
    socket(0).onopen();
    expect(link.say("hello")).toBe(true);
    socket(0).readyState = 3;
    socket(0).onclose({ code: 1006, reason: "" });
    await vi.advanceTimersByTimeAsync(0);
    expect(link.link.value.state).toBe("lost");
    expect(link.say("later")).toBe(false);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(socket(1).protocols[0]).toBe("crab-ticket.t2");
    socket(1).onopen();
    expect(socket(1).sent.map(({ type }) => type)).toEqual(["connect"]);
    link.end();
  });

  it("is not tried again when the session of the browser is over", async () => {
    const link = await linked();
    socket(0).onopen();
    socket(0).onclose({ code: 4401, reason: "the session has ended" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(FakeSocket.all).toHaveLength(1);
    expect(link.link.value).toMatchObject({ state: "refused", error: { status: 401 } });
  });

  it("draws once a frame, however many pieces come", async () => {
    const link = await linked();
    socket(0).onopen();
    let drawn = 0;
    link.chat.subscribe(() => (drawn += 1));
    socket(0).onmessage({ data: '{"type":"agent_start"}' });
    for (let piece = 0; piece < 500; ++piece)
      socket(0).onmessage({ data: '{"type":"chunk","content":"x"}' });
    socket(0).onmessage({ data: "not JSON" });
    await vi.advanceTimersByTimeAsync(100);
    expect(drawn).toBeLessThanOrEqual(3);
    expect(link.chat.value.items[0]).toMatchObject({ text: "x".repeat(500) });
    link.end();
  });
});

describe("markdown", () => {
  const kinds = (text: string) => markdown(text).map(({ kind }) => kind);

  it("knows paragraphs, headings, lists, code and tables", () => {
    const text =
      "# T\np\n\n- a\n  - b\n\n1. x\n\n```js\nlet a;\n\nb\n```\n\n|a|b|\n|-|--|\n|1|2|3|";
    expect(kinds(text)).toEqual(["heading", "paragraph", "list", "list", "code", "paragraph"]);
    expect(kinds("|a|b|\n|--|--|\n|1|2|3|\nend")).toEqual(["table", "paragraph"]);
    expect(markdown("|a|b|\n|--|--|\n|1|2|3|")[0]).toMatchObject({ rows: [{ length: 2 }] });
    expect(markdown("```\nopen\n\nstill")[0]).toMatchObject({ text: "open\n\nstill" });
  });

  it("knows emphasis, code and links; the rest is text", () => {
    expect(inline("a **b _c_** `d*e*` \\*f\\*")).toMatchObject([
      { text: "a " },
      { kind: "strong", parts: [{ text: "b " }, { kind: "em" }] },
      { text: " " },
      { kind: "code", text: "d*e*" },
      { text: " *f*" },
    ]);
    for (const text of ["snake_case_name", "2 * 3 * 4", "**", "[a]", "<b>x</b>", "![i](x.png)"])
      expect(
        inline(text).every(({ kind }) => kind === "text"),
        text,
      ).toBe(true);
    expect(inline("https://example.org")[0]).toMatchObject({ kind: "text" });
  });

  it("leads to http and https only, and never to another account's password", () => {
    expect(httpAddress("https://example.org/a")).toBe("https://example.org/a");
    for (const href of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,x",
      "//evil.example",
      "/relative",
      "https://user:pass@host/",
      "https://a b",
      "http://",
      "vbscript:x",
      "blob:https://x/y",
    ])
      expect(httpAddress(href), href).toBeUndefined();
  });

  it("tells a link whose text names another host", () => {
    expect(namesAnotherHost("bank.example", "https://evil.example/")).toBe(true);
    expect(namesAnotherHost("see https://bank.example/x", "https://evil.example/")).toBe(true);
    expect(namesAnotherHost("the manual", "https://evil.example/")).toBe(false);
    expect(namesAnotherHost("evil.example/a", "https://evil.example/a")).toBe(false);
  });

  it("is cut where blocks end, and the pieces are the whole", () => {
    const text = "a\n\nb\n```\nc\n\nd\n```\n\n- e";
    expect(pieces(text)).toEqual(["a", "b\n```\nc\n\nd\n```", "- e"]);
    const whole = markdown(text);
    expect(pieces(text).flatMap((piece) => markdown(piece))).toEqual(whole);
  });

  it("takes no longer for texts that are made to be slow", () => {
    const before = performance.now();
    for (const piece of [
      "*",
      "**",
      "_",
      "`",
      "[",
      "[a](",
      "**a",
      "*a_",
      "> ",
      "|",
      "- ",
      "\\",
      "``",
    ])
      markdown(piece.repeat(40_000 / piece.length));
    markdown("|a".repeat(20_000) + "\n|--" + "\n|b".repeat(2_000));
    expect(performance.now() - before).toBeLessThan(2_000);
  });
});
