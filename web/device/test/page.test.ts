import { describe, expect, test } from "vitest";

import { Activity } from "../src/activity.js";
import { guessedName, SettingsStore } from "../src/settings.js";
import { ago, callerAccount, callerName, valueWords } from "../src/ui/words.js";

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
  const news = (id: string, phase: "waiting" | "running" | "ok", at: number) => ({
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
});

describe("words", () => {
  test("name the agent, with the account behind it, or the account alone", () => {
    expect(callerName({ principal: "caller/ci", agent: "planner" })).toBe("planner");
    expect(callerAccount({ principal: "caller/ci", agent: "planner" })).toBe("through caller/ci");
    expect(callerName({ principal: "caller/ci", agent: "" })).toBe("ci");
    expect(callerAccount({ principal: "caller/ci", agent: "" })).toBe("");
    expect(callerName({ principal: "", agent: "" })).toBe("Somebody");
  });

  test("tell arguments as people read them", () => {
    expect(
      ["back", 1280, true, ["a", 1], { a: [1] }, null].map((value) => valueWords(value)),
    ).toEqual(["back", "1280", "yes", "a, 1", '{"a":[1]}', "null"]);
  });

  test("tell how long ago something was", () => {
    expect([-5, 1_000, 12_000, 61_000, 7_200_000, 200_000_000].map(ago)).toEqual([
      "now",
      "now",
      "12 s",
      "1 min",
      "2 h",
      "2 d",
    ]);
  });
});
