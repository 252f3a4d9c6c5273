import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";

import { beforeEach, describe, expect, it } from "vitest";

const SOURCE = readFileSync(
  fileURLToPath(new URL("../worker/push.js", import.meta.url)),
  "utf8",
);
const PAGE = "https://home.example/console/";

interface Shown {
  readonly title: string;
  readonly options: Record<string, unknown>;
}
interface Event {
  readonly data?: { json: () => unknown };
  readonly action?: string;
  readonly notification?: { close: () => void; data?: unknown };
}
type Listener = (event: Event & { waitUntil: (done: Promise<unknown>) => void }) => void;

let listeners: Record<string, Listener> = {};
let shown: Shown[] = [];
let visited: string[] = [];
let open: Partial<{
  focus: () => Promise<void>;
  navigate: (to: string) => Promise<void>;
  postMessage: (said: unknown) => void;
}>[] = [];
let told: unknown[] = [];

beforeEach(() => {
  listeners = {};
  shown = [];
  visited = [];
  open = [];
  told = [];
  const self = {
    addEventListener: (name: string, listener: Listener) => (listeners[name] = listener),
    navigator: { language: "en" },
    registration: {
      showNotification: async (title: string, options: Record<string, unknown>) =>
        void shown.push({ title, options }),
    },
    clients: {
      matchAll: async () => open,
      openWindow: async (to: string) => {
        visited.push(`new ${to}`);
        return { postMessage: (said: unknown) => void told.push(said) };
      },
    },
  };
  runInNewContext(SOURCE, { self, PAGE, KIND: "crab-console-" });
});

async function happens(name: string, event: Event): Promise<void> {
  let done: Promise<unknown> = Promise.resolve();
  listeners[name]?.({ ...event, waitUntil: (until) => (done = until) });
  await done;
}
const push = (said: unknown) => happens("push", { data: { json: () => said } });

describe("a message", () => {
  it("says which tool waits and who calls it, once for each question", async () => {
    await push({ kind: "approval", id: "a1", tool: "sms.send", who: "caller/ci", agent: "butler" });
    expect(shown[0]?.title).toBe("Waits for you: sms.send");
    expect(shown[0]?.options).toMatchObject({
      body: "Called by caller/ci, butler",
      tag: "crab-console-a1",
      requireInteraction: true,
    });
    // to allow takes the page
    expect(shown[0]?.options["actions"]).toEqual([{ action: "deny", title: "Deny" }]);
  });

  it("shows nothing that hides or turns text round", async () => {
    await push({ kind: "approval", id: "a", tool: "a\u202eb\u0000", who: "c\u200bd\u2066" });
    expect(shown[0]?.title).toBe("Waits for you: a\ufffdb\ufffd");
    expect(shown[0]?.options["body"]).toBe("Called by c\ufffdd\ufffd");
    await push({ kind: "approval", id: "b", tool: "x".repeat(5000), who: "y" });
    expect(shown[1]?.title.length).toBeLessThan(300);
  });

  it("that nobody can read is shown all the same, as browsers demand", async () => {
    await happens("push", {
      data: {
        json: () => {
          throw new SyntaxError("no JSON");
        },
      },
    });
    await happens("push", {});
    await push(null);
    expect(shown.map(({ title }) => title)).toEqual(["crab", "crab", "crab"]);
    for (const { options } of shown) expect(options).not.toHaveProperty("actions");
  });
});

describe("its click", () => {
  const click = () => happens("notificationclick", { notification: { close: () => undefined } });

  it("opens the approvals, in a page that is open if there is one", async () => {
    await click();
    expect(visited).toEqual([`new ${PAGE}?page=approvals`]);
    open = [
      {
        focus: async () => void visited.push("focus"),
        navigate: async (to) => void visited.push(to),
      },
    ];
    await click();
    expect(visited.slice(1)).toEqual(["focus", `${PAGE}?page=approvals`]);
  });
});

describe("its button", () => {
  const deny = () =>
    happens("notificationclick", {
      action: "deny",
      notification: { close: () => undefined, data: { id: "a1" } },
    });

  it("has a page deny, which holds the half of the session that the worker lacks", async () => {
    await deny();
    expect(visited).toEqual([`new ${PAGE}?page=approvals`]);
    expect(told).toEqual([{ kind: "deny", id: "a1" }]);
  });

  it("leaves an open page where it is", async () => {
    open = [{ postMessage: (said) => void told.push(said) }];
    await deny();
    expect(visited).toEqual([]);
    expect(told).toEqual([{ kind: "deny", id: "a1" }]);
  });
});
