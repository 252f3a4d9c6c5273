import { signal } from "@preact/signals";

/** The page of an address that names none. */
export const FIRST_PAGE = "overview";

/** What the address says: `?page=calls&filter=…&call=…`. */
export const place = signal(new URLSearchParams(location.search));

addEventListener("popstate", () => {
  place.value = new URLSearchParams(location.search);
});

function addressBy(query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? location.pathname : `?${text}`;
}

/** The address with these members; an empty one goes. */
export function addressWith(members: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(place.value);
  for (const [name, value] of Object.entries(members))
    if (value === "") next.delete(name);
    else next.set(name, value);
  return addressBy(next);
}

/** The address of a page, with nothing of the one before. */
export function addressOf(page: string, members: Readonly<Record<string, string>> = {}): string {
  const all = { page: page === FIRST_PAGE ? "" : page, ...members };
  return addressBy(new URLSearchParams(Object.entries(all).filter(([, value]) => value !== "")));
}

/** Goes to an address of this console. */
export function visit(address: string): void {
  history.pushState(null, "", address);
  place.value = new URLSearchParams(location.search);
}

/** Changes members. `replace`: without a step of its own for *back*, as while somebody types. */
export function go(members: Readonly<Record<string, string>>, replace = false): void {
  const address = addressWith(members);
  if (!replace) return visit(address);
  history.replaceState(null, "", address);
  place.value = new URLSearchParams(location.search);
}
