import { afterEach, describe, expect, it } from "vitest";

import { leftWords, passed } from "../src/countdown";
import { de } from "../src/strings/de";
import { en } from "../src/strings/en";
import { language, strings } from "../src/t";

const placeholders = (text: string) => new Set(text.match(/\{\w+\}/g));
afterEach(() => void (language.value = "en"));

describe("a text by its key", () => {
  const t = strings({ tools: "one tool | {n} tools", gone: "{who} is gone" }, async () => ({
    tools: "ein Werkzeug | {n} Werkzeuge",
    gone: "{who} ist weg",
  }));

  it("has the form that its number asks for", () => {
    expect(t("tools", { n: 1 })).toBe("one tool");
    expect(t("tools", { n: 100_214 })).toBe("100,214 tools");
  });

  it("is English until German is read, then German", async () => {
    language.value = "de";
    expect(t("gone", { who: "x" })).toBe("x is gone");
    await Promise.resolve();
    await Promise.resolve();
    expect(t("tools", { n: 1_000 })).toBe("1.000 Werkzeuge");
  });

  it("shows what a foreign value hides, keeps its direction apart, and reads nothing in it", () => {
    expect(t("gone", { who: "a\u202eb" })).toBe("\u2068a\\u202eb\u2069 is gone");
    expect(t("gone", { who: "{who} | {n}" })).toBe("{who} | {n} is gone");
  });

  it("in the pseudo-locale is marked and longer, with its values untouched", () => {
    language.value = "pseudo";
    const text = t("gone", { who: "Anna" });
    expect(text).toMatch(/^\[Anna ís góñé·+\]$/);
  });

  it("has the same places for values in both languages", () => {
    for (const [key, text] of Object.entries(en))
      expect(placeholders(de[key as keyof typeof en]), key).toEqual(placeholders(text));
  });
});

describe("the time that is left", () => {
  it("is told in whole units that are not more than there is", () => {
    expect([0, 1, 41, 119, 120, 7_199, 7_200].map(leftWords)).toEqual([
      "time is up",
      "one second left",
      "41 seconds left",
      "119 seconds left",
      "2 minutes left",
      "119 minutes left",
      "2 hours left",
    ]);
  });

  it("is spoken at 60, 30 and 10 seconds, once each", () => {
    expect([passed(61, 60), passed(60, 59), passed(31, 29), passed(12, 9), passed(9, 0)]).toEqual([
      60,
      undefined,
      30,
      10,
      undefined,
    ]);
  });
});
