import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";

import { beforeEach, describe, expect, it } from "vitest";

const SOURCE = readFileSync(
  fileURLToPath(new URL("../../shared/worker/shell.js", import.meta.url)),
  "utf8",
);
const ORIGIN = "http://127.0.0.1:9";
const SCOPE = `${ORIGIN}/console/`;

type Listener = (event: Record<string, unknown>) => void;

/** Caches as a service worker sees them. */
class Store {
  readonly all = new Map<string, Map<string, Response>>();
  readonly keys = async () => [...this.all.keys()];
  readonly delete = async (name: string) => this.all.delete(name);
  readonly open = async (name: string) => {
    const held = this.all.get(name) ?? new Map<string, Response>();
    this.all.set(name, held);
    const key = (of: string | { url: string }) => (typeof of === "string" ? of : of.url);
    return {
      match: async (of: string | { url: string }) => held.get(key(of))?.clone(),
      put: async (of: string | { url: string }, answer: Response) => void held.set(key(of), answer),
      keys: async () => [...held.keys()].map((url) => ({ url })),
      delete: async (of: string | { url: string }) => held.delete(key(of)),
    };
  };
}

let listeners: Record<string, Listener> = {};
let store = new Store();
let answers: Record<string, string> = {};
let fetched: string[] = [];

beforeEach(() => {
  listeners = {};
  store = new Store();
  fetched = [];
  const self = {
    addEventListener: (name: string, listener: Listener) => (listeners[name] = listener),
    skipWaiting: () => undefined,
    clients: { claim: async () => undefined },
    registration: { scope: SCOPE },
    location: { origin: ORIGIN },
  };
  const fetch = async (of: string | { url: string }) => {
    const url = typeof of === "string" ? of : of.url;
    fetched.push(url);
    const text = answers[url];
    if (text === undefined) throw new TypeError("offline");
    return new Response(text);
  };
  runInNewContext(SOURCE, { self, caches: store, fetch, URL });
});

async function ask(url: string, more: object = {}): Promise<string | undefined> {
  let answer: Promise<Response> | undefined;
  const respondWith = (given: Promise<Response>) => (answer = given);
  const request = { url, method: "GET", mode: "cors", ...more };
  const work: Promise<unknown>[] = [];
  const waitUntil = (one: Promise<unknown>) => work.push(one);
  listeners["fetch"]?.({ request, respondWith, waitUntil });
  const text = answer === undefined ? undefined : await (await answer).text();
  await Promise.all(work);
  return text;
}
const navigate = () => ask(SCOPE, { mode: "navigate" });
const ASSET = `${SCOPE}assets/index-AbCd_123.js`;

describe("the service worker", () => {
  it("leaves everything that the gateway answers alone", async () => {
    for (const path of ["api/v1/admin/status", "session", "api/ws/chat", "sw.js", "icon.svg"])
      expect(await ask(SCOPE + path), path).toBeUndefined();
    expect(await ask(SCOPE, { mode: "navigate", method: "POST" })).toBeUndefined();
    expect(await ask("https://other.example/console/assets/a-12345678.js")).toBeUndefined();
    expect(fetched).toEqual([]);
  });

  it("shows the page that it keeps only while there is no gateway", async () => {
    answers = { [SCOPE]: "one" };
    expect(await navigate()).toBe("one");
    answers = { [SCOPE]: "two" };
    expect(await navigate()).toBe("two");
    answers = {};
    expect(await navigate()).toBe("two");
  });

  it("asks for a file with a digest once, and lets it go with its page", async () => {
    answers = { [SCOPE]: "one", [ASSET]: "script" };
    await navigate();
    expect([await ask(ASSET), await ask(ASSET)]).toEqual(["script", "script"]);
    expect(fetched.filter((url) => url === ASSET)).toHaveLength(1);
    answers = { [SCOPE]: "two" };
    await navigate();
    await expect(ask(ASSET)).rejects.toThrow("offline");
  });

  it("keeps a page with the files that it names, or neither", async () => {
    const page = (of: string) => `<script src="./assets/index-${of}.js"></script>`;
    answers = { [SCOPE]: page("AAAAAAAA"), [`${SCOPE}assets/index-AAAAAAAA.js`]: "a" };
    await navigate();
    answers = { [SCOPE]: page("BBBBBBBB") }; // its script cannot be had
    expect(await navigate()).toBe(page("BBBBBBBB"));
    answers = {};
    expect(await navigate()).toBe(page("AAAAAAAA"));
    expect(await ask(`${SCOPE}assets/index-AAAAAAAA.js`)).toBe("a");
  });

  it("deletes the caches of others of its kind, and no other's", async () => {
    for (const name of ["crab-console-0", "crab-device-1"]) await store.open(name);
    let done: Promise<void> | undefined;
    listeners["activate"]?.({ waitUntil: (work: Promise<void>) => (done = work) });
    await done;
    expect(await store.keys()).toEqual(["crab-device-1"]);
  });
});
