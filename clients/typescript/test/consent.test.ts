import { describe, expect, test } from "vitest";

import { type Answer, ConsentBook, type Decision, storedDecisions } from "../src/consent.js";
import type { ToolCall } from "../src/tool.js";
import { settle } from "./fake-platform.js";

/** A call of `tool` by `principal`, and what takes it back. */
function call(tool: string, principal = "caller/ci", agent = ""): ToolCall & { abort(): void } {
  const abort = new AbortController();
  return {
    id: "c",
    tool,
    args: {},
    caller: { principal, agent },
    deadline: 0,
    traceparent: "",
    signal: abort.signal,
    uploads: undefined,
    progress: () => {},
    abort: () => abort.abort(),
  };
}

/** A person who is asked, answer by answer. */
class Person {
  readonly questions: Array<{ call: ToolCall; answer: (answer: Answer) => void }> = [];
  saved: Decision[] = [];
  readonly book: ConsentBook;
  constructor(saved: Decision[] = []) {
    this.saved = saved;
    this.book = new ConsentBook({
      ask: (asked) => new Promise((answer) => this.questions.push({ call: asked, answer })),
      store: { load: () => this.saved, save: (decisions) => (this.saved = decisions) },
      now: () => 7,
    });
  }
  async say(answer: Answer): Promise<void> {
    this.questions.shift()?.answer(answer);
    await settle();
  }
}

describe("consent", () => {
  test("once is for this call alone", async () => {
    const person = new Person();
    const first = person.book.consent(call("camera"));
    await settle();
    await person.say("once");
    expect(await first).toBe(true);
    void person.book.consent(call("camera"));
    await settle();
    expect(person.questions).toHaveLength(1);
  });

  test("always and never hold without further questions, and are kept", async () => {
    const person = new Person();
    const first = person.book.consent(call("camera"));
    await settle();
    await person.say("always");
    expect(await first).toBe(true);
    expect(await person.book.consent(call("camera"))).toBe(true);
    void person.book.consent(call("camera", "caller/other"));
    await settle();
    await person.say("never");
    const again = new Person(person.saved);
    expect(await again.book.consent(call("camera"))).toBe(true);
    expect(await again.book.consent(call("camera", "caller/other"))).toBe(false);
  });

  test("an answer for the session is not kept", async () => {
    const person = new Person();
    void person.book.consent(call("camera"));
    await settle();
    await person.say("session");
    expect(await person.book.consent(call("camera"))).toBe(true);
    expect(person.saved).toEqual([]);
  });

  test("a decision is for one tool and one agent", async () => {
    const person = new Person();
    void person.book.consent(call("camera", "caller/ci", "planner"));
    await settle();
    await person.say("always");
    void person.book.consent(call("camera", "caller/ci", "coder"));
    await settle();
    expect(person.questions).toHaveLength(1);
  });

  test("questions come one after the other, and a lasting answer settles those of the " +
    "same kind", async () => {
    const person = new Person();
    const answers = [call("camera"), call("camera"), call("location")].map((each) =>
      person.book.consent(each),
    );
    await settle();
    expect(person.questions).toHaveLength(1);
    await person.say("session");
    expect(person.questions.map((question) => question.call.tool)).toEqual(["location"]);
    await person.say("no");
    expect(await Promise.all(answers)).toEqual([true, true, false]);
  });

  test("an answer to a question whose call is gone decides nothing", async () => {
    const person = new Person();
    const gone = call("camera");
    const answer = person.book.consent(gone);
    await settle();
    gone.abort();
    await person.say("always");
    expect(await answer).toBe(false);
    expect(person.book.list()).toEqual([]);
  });

  test("a decision that is taken back is asked about again", async () => {
    const person = new Person([
      { tool: "camera", principal: "caller/ci", agent: "", answer: "never", at: 1 },
    ]);
    person.book.forget({ tool: "camera", principal: "caller/ci", agent: "" });
    expect(person.saved).toEqual([]);
    void person.book.consent(call("camera"));
    await settle();
    expect(person.questions).toHaveLength(1);
  });

  test("what a storage holds and nobody understands counts as nothing", () => {
    const held = (text: string | null) =>
      storedDecisions({ getItem: () => text, setItem: () => {} }, "k").load();
    expect(held(null)).toEqual([]);
    expect(held("{")).toEqual([]);
    expect(
      held(
        '[{"tool":"camera"},{"tool":"camera","principal":"p","agent":"","answer":"always","at":1}]',
      ),
    ).toHaveLength(1);
  });
});
