import { signal } from "@preact/signals";

/** What the address says: `?page=calls&filter=…&call=…`. */
export const place = signal(new URLSearchParams(location.search));

addEventListener("popstate", () => {
  place.value = new URLSearchParams(location.search);
});

/** The address with these members; an empty one goes. */
export function addressWith(members: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(place.value);
  for (const [name, value] of Object.entries(members))
    if (value === "") next.delete(name);
    else next.set(name, value);
  const query = next.toString();
  return query === "" ? location.pathname : `?${query}`;
}

/** Goes there. `replace`: without a step of its own for *back*, as while somebody types. */
export function go(members: Readonly<Record<string, string>>, replace = false): void {
  const address = addressWith(members);
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  place.value = new URLSearchParams(location.search);
}
