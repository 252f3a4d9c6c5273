import { addressBy } from "@crab/web-shared/place";

export { addressWith, go, place, visit } from "@crab/web-shared/place";

/** The page of an address that names none. */
export const FIRST_PAGE = "overview";

/** The address of a page, with nothing of the one before. */
export function addressOf(page: string, members: Readonly<Record<string, string>> = {}): string {
  const all = { page: page === FIRST_PAGE ? "" : page, ...members };
  return addressBy(new URLSearchParams(Object.entries(all).filter(([, value]) => value !== "")));
}
