import type { CallNews } from "@crab/device";
import { language } from "@crab/web-shared/t";
import { afterEach, describe, expect, test } from "vitest";

import { Activity } from "../src/activity.js";
import { codeWithin } from "../src/code.js";
import { installsByShare } from "../src/install.js";
import { type Link, linkAfter } from "../src/link.js";
import { guessedName, SettingsStore } from "../src/settings.js";
import { de } from "../src/strings/de.js";
import { en } from "../src/strings/en.js";
import { de as laterDe } from "../src/strings/later.de.js";
import { en as laterEn } from "../src/strings/later.en.js";
import { allTools } from "../src/tools/all.js";
import { lackOf } from "../src/tools/page-tool.js";
import { runs } from "../src/tools/run/all.js";
import { argsWords, asksWords, callerAccount, callerName, toolTitle } from "../src/ui/words.js";
import { isOther } from "../src/version.js";

/** A `Storage` that is a map. */
function storage(entries: Record<string, string> = {}) {
  const map = new Map(Object.entries(entries));
  return {
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
  };
}

describe("settings", () => {
  test("begin with a name from the browser and no token", () => {
    expect(
      new SettingsStore(storage(), "Mozilla/5.0 (Linux; Android 14; Pixel 8) Mobile Safari").get(),
    ).toEqual({ name: "Android phone", switched: {} });
    expect(guessedName("Mozilla/5.0 (iPad; CPU OS 17_0)")).toBe("iPad");
    expect(guessedName("curl")).toBe("Browser");
  });

  test("are there the next time, and a token that is given up is not", () => {
    const kept = storage();
    const first = new SettingsStore(kept, "");
    first.set({ switched: { take_photo: false } });
    first.pairedBy("t", "Kitchen");
    const second = new SettingsStore(kept, "");
    expect(second.get()).toEqual({ token: "t", name: "Kitchen", switched: { take_photo: false } });
    second.pairedBy(undefined, "Kitchen");
    expect(new SettingsStore(kept, "").get()).toEqual({
      key: true,
      name: "Kitchen",
      switched: { take_photo: false },
    });
    second.set({ paused: true });
    second.unpaired();
    expect(new SettingsStore(kept, "").get()).toEqual({
      name: "Kitchen",
      switched: { take_photo: false },
    });
  });

  test("that make no sense count as none", () => {
    for (const text of ["{", "null", "7", '{"name":7}', '{"name":"x"}']) {
      expect(new SettingsStore(storage({ "crab.device": text }), "").get()).toEqual({
        name: "Browser",
        switched: {},
      });
    }
  });
});

describe("the activity", () => {
  const news = (id: string, phase: CallNews["phase"], at: number): CallNews => ({
    id,
    tool: "take_photo",
    caller: { principal: "p", agent: "" },
    phase,
    at,
  });

  test("moves a call from running to ended and keeps when it began", () => {
    let changes = 0;
    const activity = new Activity(() => ++changes);
    activity.onCall(news("a", "waiting", 10));
    activity.onCall(news("a", "running", 20));
    expect(activity.running()).toMatchObject([{ id: "a", phase: "running", startedAt: 10 }]);
    activity.onCall(news("a", "ok", 30));
    expect(activity.running()).toEqual([]);
    expect(activity.ended()).toMatchObject([{ id: "a", phase: "ok", startedAt: 10 }]);
    expect(changes).toBe(3);
  });

  test("keeps what was given with the call", () => {
    const activity = new Activity(() => {});
    activity.onCall(news("a", "running", 10));
    activity.gave("a", { words: "80 %" });
    activity.gave("gone", { words: "nothing" });
    activity.onCall(news("a", "ok", 20));
    expect(activity.ended()).toMatchObject([{ id: "a", startedAt: 10, given: { words: "80 %" } }]);
  });

  test("keeps the last thirty", () => {
    const activity = new Activity(() => {});
    for (let i = 0; i < 40; ++i) activity.onCall(news(`c${i}`, "ok", i));
    expect(activity.ended()).toHaveLength(30);
    expect(activity.ended()[0]).toMatchObject({ id: "c39" });
  });

  test("a65_10: tells a call that an earlier answer allowed from one that was asked about", () => {
    const activity = new Activity(() => {});
    for (const id of ["asked", "remembered"]) activity.onCall(news(id, "waiting", 1));
    activity.asked("asked");
    for (const id of ["asked", "remembered"]) {
      activity.onCall(news(id, "running", 2));
      activity.onCall(news(id, "ok", 3));
    }
    expect(activity.ended().map(({ id, remembered }) => [id, remembered])).toEqual([
      ["remembered", true],
      ["asked", undefined],
    ]);
  });

  test("a65_10: outlives the page, without arguments and pictures", () => {
    const kept = storage();
    const first = new Activity(() => {}, kept);
    first.onCall(news("a", "waiting", 10));
    first.wants("a", { text: "secret" });
    first.gave("a", { words: "320 × 240", picture: "data:image/jpeg;base64,AAAA" });
    expect(first.running()[0]?.args).toEqual({ text: "secret" });
    first.onCall(news("a", "ok", 20));
    expect(first.ended()[0]?.given?.picture).toMatch(/^data:/);
    const second = new Activity(() => {}, kept);
    expect(second.ended()).toMatchObject([{ id: "a", given: { words: "320 × 240" } }]);
    expect(JSON.stringify(second.ended())).not.toMatch(/secret|data:/);
    second.clear();
    expect(new Activity(() => {}, kept).ended()).toEqual([]);
  });

  test("takes nothing that makes no sense from the storage", () => {
    const running = { ...news("b", "running", 1), startedAt: 1 };
    const bad = [null, 7, {}, { ...news("a", "ok", 1) }, running];
    for (const text of ["{", "7", JSON.stringify(bad)])
      expect(new Activity(() => {}, storage({ "crab.calls": text })).ended()).toEqual([]);
  });
});

describe("a code", () => {
  test("a65_2: is found in what was pasted around it", () => {
    for (const text of [
      "5809-8061-5827",
      "580980615827",
      "Code: 5809-8061-5827",
      "  5809 8061 5827, for five minutes",
      "https://home.example:42617/device/#pair=5809-8061-5827",
      "The code of 12:30 is 5809-8061-5827.",
    ])
      expect(codeWithin(text), text).toBe("5809-8061-5827");
  });

  test("gets its hyphens while it is typed", () => {
    expect(["", "5", "5809", "58098", "5809-80615"].map(codeWithin)).toEqual([
      "",
      "5",
      "5809",
      "5809-8",
      "5809-8061-5",
    ]);
  });
});

describe("a tool", () => {
  const phone = { secure: true, touch: true };

  test("a65_3: that cannot be offered says what is missing", () => {
    const tool = { available: () => true };
    expect(lackOf(tool, { secure: false, touch: false })).toBeUndefined();
    expect(lackOf({ ...tool, secure: true }, { ...phone, secure: false })).toBe("secure");
    expect(lackOf({ ...tool, touch: true }, { ...phone, touch: false })).toBe("touch");
    expect(lackOf({ available: () => false }, phone)).toBe("browser");
  });

  test("is run by what its name says", () => {
    expect(Object.keys(runs).sort()).toEqual(allTools.map(({ name }) => name).sort());
  });

  test("has its words in both languages", () => {
    for (const { name } of allTools)
      for (const kind of ["tool", "hint", "asks"])
        for (const texts of [en, de] as Record<string, string>[])
          expect(texts[`${kind}.${name}`], `${kind}.${name}`).toBeTruthy();
  });
});

describe("the link", () => {
  const lost = (why: string) => ({ kind: "lost", why, retryInMs: 1_000 }) as const;

  test("a65_12: keeps since when it is lost, and when it tries again", () => {
    let link: Link = { state: "connecting" };
    link = linkAfter(link, lost("the link broke"), 5_000);
    link = linkAfter(link, { kind: "connecting" }, 6_000);
    expect(link).toEqual({ state: "lost", since: 5_000, why: "the link broke" });
    link = linkAfter(link, lost("the gateway answers 404"), 7_000);
    expect(link).toMatchObject({ state: "lost", since: 5_000, nextAt: 8_000 });
    link = linkAfter(link, { kind: "connected", tools: 1, rejected: [] }, 9_000);
    expect(link).toEqual({ state: "connected", rejected: [] });
  });
});

describe("the version", () => {
  const page = (of: string) =>
    `<link rel="icon" href="./icon.svg">
    <script type="module" crossorigin src="./assets/i-${of}.js"></script>
    <link rel="stylesheet" crossorigin href="./assets/i-${of}.css">
    <link rel="modulepreload" href="./assets/p-${of}.js">`;

  test("a65_13: is another when the page names other files", () => {
    const running = ["assets/i-AAAAAAAA.css", "assets/i-AAAAAAAA.js"];
    expect(isOther(running, page("AAAAAAAA"))).toBe(false);
    expect(isOther(running, page("BBBBBBBB"))).toBe(true);
    expect(isOther(running, "<h1>Sign in to this network</h1>")).toBe(false);
  });
});

describe("words", () => {
  afterEach(() => (language.value = "en"));

  test("name the agent, with the account behind it, or the account alone", () => {
    expect(callerName({ principal: "caller/ci", agent: "planner" })).toBe("planner");
    expect(callerAccount({ principal: "caller/ci", agent: "planner" })).toBe("through caller/ci");
    expect(callerName({ principal: "caller/ci", agent: "" })).toBe("ci");
    expect(callerAccount({ principal: "caller/ci", agent: "" })).toBe("");
    expect(callerName({ principal: "", agent: "" })).toBe("Somebody");
  });

  test("a65_11: show what would move or hide the text around it", () => {
    const caller = { principal: "caller/ci", agent: "plan\u202ener\u0007" };
    expect(callerName(caller)).toBe("plan\\u202ener\\u0007");
    expect(asksWords({ tool: "take_photo", caller })).toMatch(/^plan\\u202ener\\u0007 wants to/);
    expect(callerName({ principal: "", agent: "x".repeat(500) }).length).toBeLessThan(100);
  });

  test("tell arguments as people read them", () => {
    expect(
      argsWords({
        camera: "back",
        max_side: 1280,
        flash: true,
        l: ["a", 1],
        o: { a: [1] },
        n: null,
      }),
    ).toEqual({
      camera: "back",
      "max side": "1280",
      flash: "yes",
      l: "a, 1",
      o: '{"a":[1]}',
      n: "null",
    });
  });

  test("leave a tool that nobody knows its name", () => {
    expect(toolTitle("take_photo")).toBe("Camera");
    expect(toolTitle("constructor")).toBe("constructor");
  });

  test("a65_15: tell the owner of an iPhone how to install, until it is", () => {
    const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)";
    expect(installsByShare(iphone, false)).toBe(true);
    expect(installsByShare(iphone, true)).toBe(false);
    expect(installsByShare("Mozilla/5.0 (Linux; Android 14)", false)).toBe(false);
  });

  test("a65_16: have no commands for whoever owns a phone", () => {
    for (const texts of [en, de, laterEn, laterDe])
      for (const [key, text] of Object.entries(texts))
        expect(text, key).not.toMatch(/crab \w|\bCLI\b|operator/);
  });
});
