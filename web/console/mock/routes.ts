/** Answers a request: parts of the path, the query, the body. Undefined: there is no such thing. */
export type Route = (
  parts: Record<string, string>,
  query: URLSearchParams,
  body: Record<string, unknown>,
) => unknown;

/** Routes by `METHOD /path/:part`. */
export type MockRoutes = Readonly<Record<string, unknown>>;

function partsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const parts: Record<string, string> = {};
  for (const [index, piece] of wanted.entries()) {
    const found = given[index] ?? "";
    if (piece.startsWith(":")) parts[piece.slice(1)] = decodeURIComponent(found);
    else if (piece !== found) return undefined;
  }
  return parts;
}

export function answerOf(
  routes: MockRoutes,
  method: string,
  path: string,
  query: string,
  body: string,
): unknown {
  for (const [name, route] of Object.entries(routes)) {
    const [itsMethod, pattern = ""] = name.split(" ");
    const parts = itsMethod === method ? partsOf(pattern, path) : undefined;
    if (!parts) continue;
    const read = body === "" ? {} : (JSON.parse(body) as Record<string, unknown>);
    return (route as Route)(parts, new URLSearchParams(query), read);
  }
  return undefined;
}
