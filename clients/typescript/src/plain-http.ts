/** Where a token may travel without encryption. */
export interface PlainOptions {
  /** For `http:` beyond this machine, where something else encrypts; default false. */
  allowPlain?: boolean | undefined;
}

/**
 * Throws a TypeError for a host to which a token would travel in the clear: any but this machine.
 * A page may talk to the origin that it came from, since its own code came that way too.
 */
export function refusePlain(url: URL, options: PlainOptions): void {
  if (options.allowPlain || isLoopback(url.hostname)) return;
  const page = (globalThis as { location?: { host?: string } }).location;
  if (page?.host === url.host) return;
  throw new TypeError(
    `${url.host}: beyond this machine use https://, or the token could be read on the way; ` +
      "allowPlain: true where something else encrypts",
  );
}

/** Of a host as URL writes it. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}
