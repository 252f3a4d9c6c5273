import { codeFromLink } from "@crab/device";

const grouped = (digits: string): string => digits.replace(/(\d{4})(?=\d)/g, "$1-");

/**
 * What a person typed or pasted as a code, with its hyphens: a code among other words, a link, or
 * the digits so far.
 */
export function codeWithin(text: string): string {
  const found = /(?<!\d)\d{4}[\s-]*\d{4}[\s-]*\d{4}(?!\d)/.exec(text)?.[0];
  const linked = /#/.test(text) ? codeFromLink(text) : undefined;
  return grouped((linked ?? found ?? text).replace(/\D/g, "").slice(0, 12));
}
