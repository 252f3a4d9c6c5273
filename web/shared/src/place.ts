import { signal } from "@preact/signals";

/** What the address says, by members: `?page=calls&filter=…`. */
export const place = signal(new URLSearchParams(location.search));

addEventListener("popstate", () => {
  place.value = new URLSearchParams(location.search);
});

/** The address of these members. */
export function addressBy(query: URLSearchParams): string {
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

/** Goes to an address of this page. */
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
