import { type ComponentChildren, h } from "preact";

import { cut, pieces, visible } from "../src/visible";

export const tagsOf = (html: string) => new Set([...html.matchAll(TAG)].map(([, tag]) => tag));
/** The page's own marks around foreign texts within its sentences. */
const withoutIsolates = (html: string) => html.replace(/[\u2068\u2069]/g, "");

/** An element's tag with its attributes, as the renderer writes them: values in quotes. */
const TAG = /<([a-z][a-z0-9-]*)((?:\s+[\w:-]+(?:="[^"]*")?)*)\s*\/?>/gi;

/** What a page must not make of a text of others. */
export function problems(html: string, allowed: ReadonlySet<string | undefined>): string[] {
  const found: string[] = [];
  for (const [, tag, attributes = ""] of html.matchAll(TAG)) {
    if (!allowed.has(tag)) found.push(`<${tag}>`);
    const names = attributes.replace(/="[^"]*"/g, "");
    if (/\s(on\w+|srcdoc|style)\b/i.test(names)) found.push(`attributes ${names}`);
    const href = /\shref="([^"]*)"/.exec(attributes)?.[1];
    if (href !== undefined && !/^(\?|https?:\/\/|\/console\/)/.test(href)) found.push(href);
  }
  if (/<(?![a-z/])|<[a-z][^>]*</i.test(html.replace(TAG, ""))) found.push("a broken tag");
  const hidden = pieces(withoutIsolates(html), true).filter((piece) => piece.hidden);
  return [...found, ...hidden.map((piece) => `unseen ${piece.text}`)];
}

const CHARACTERS: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&" };
const LONG_ENOUGH = 24;
/** Without what may break lines, and what a JSON text puts before its quotes. */
const squeezed = (text: string) => text.replace(/\\n|[\s"\\…]/g, "");

/** Whether who reads the page reads the text, or its beginning. */
export function reads(html: string, text: string): boolean {
  const shown = html
    .replace(TAG, "")
    .replace(/<\/[\w-]+>/g, "")
    .replace(/&(lt|gt|quot|amp);/g, (_, name: string) => CHARACTERS[name] ?? "");
  return squeezed(shown).includes(squeezed(visible(cut(text, LONG_ENOUGH))));
}

interface DialogProps {
  readonly title: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A dialog as it is once it is open, which it is in a browser only. */
export const openDialogs = () => ({
  Dialog: ({ title, children }: DialogProps) =>
    h("dialog", {}, h("div", { class: "dialog-head" }, h("h2", {}, title)), children),
  Confirm: ({ title, children }: DialogProps) => h("dialog", {}, h("h2", {}, title), children),
});
