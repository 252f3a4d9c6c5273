import { signal } from "@preact/signals";

import { visible } from "./visible";

/** `pseudo` is English with marks and a third more letters: what is raw or cut is seen by it. */
export type Language = "en" | "de" | "pseudo";
export const language = signal<Language>("en");

/** The language for Intl. */
export const locale = (): string => (language.value === "de" ? "de" : "en-GB");

type Values = Readonly<Record<string, string | number>>;

const PLAIN = "aeiouAEIOUnc";
const MARKED = "áéíóúÁÉÍÓÚñç";

function pseudo(text: string): string {
  const marked = text.replace(/\{\w+\}|[aeiouAEIOUnc]/g, (found) =>
    found.length > 1 ? found : MARKED.charAt(PLAIN.indexOf(found)),
  );
  return text
    .split(" | ")
    .map((_, index) => `[${marked.split(" | ")[index]}${"·".repeat(Math.ceil(text.length / 3))}]`)
    .join(" | ");
}

/** A foreign text within a sentence: nothing unseen, and its direction stays its own. */
const isolated = (text: string): string =>
  /^[\x20-\x7e]*$/.test(text) ? text : `\u2068${visible(text)}\u2069`;

function fill(text: string, values: Values): string {
  const forms = text.split(" | ");
  const { n } = values;
  const other = typeof n === "number" && new Intl.PluralRules(locale()).select(n) !== "one";
  const form = (other ? forms[forms.length - 1] : forms[0]) ?? text;
  return form.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = new Map(Object.entries(values)).get(name);
    if (typeof value === "number") return new Intl.NumberFormat(locale()).format(value);
    return value === undefined ? whole : isolated(value);
  });
}

/**
 * The texts of one part of a page, as a function of their keys. `{name}` stands for a value,
 * `one tool | {n} tools` for the two forms that `n` asks for. German comes with its own file, once
 * it is wanted; until then, and where that file cannot be read, the text is English.
 */
export function strings<Key extends string>(
  en: Readonly<Record<Key, string>>,
  de: () => Promise<Readonly<Record<NoInfer<Key>, string>>>,
): (key: Key, values?: Values) => string {
  const german = signal<Readonly<Record<Key, string>> | undefined>(undefined);
  let asked = false;
  const read = () => {
    asked = true;
    de().then(
      (texts) => (german.value = texts),
      () => undefined,
    );
  };
  return (key, values = {}) => {
    const wanted = language.value;
    if (wanted === "de" && !asked) read();
    const text = (wanted === "de" && german.value?.[key]) || en[key];
    return fill(wanted === "pseudo" ? pseudo(text) : text, values);
  };
}
