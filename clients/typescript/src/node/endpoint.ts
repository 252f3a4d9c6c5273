import { type PlainOptions, refusePlain } from "../plain-http.js";

/** Where a gateway's HTTP is: an address of the network, or a Unix socket of this machine. */
export interface Endpoint {
  secure: boolean;
  host: string;
  port: number;
  /** Before every path; empty or `/prefix`. */
  prefix: string;
  /** Instead of host and port. */
  socketPath?: string;
}

const schemes: Record<string, { secure: boolean; port: number }> = {
  "http:": { secure: false, port: 80 },
  "ws:": { secure: false, port: 80 },
  "https:": { secure: true, port: 443 },
  "wss:": { secure: true, port: 443 },
};

/**
 * Reads `https://host:42617`, `http://127.0.0.1:42617` or `unix:/run/user/1000/crab/admin.sock`.
 * Throws a TypeError for anything else; a URL with a user name is refused, because it would end in
 * logs, and so is `http:` beyond this machine unless `allowPlain`.
 */
export function parseEndpoint(gateway: string, options: PlainOptions = {}): Endpoint {
  if (gateway.startsWith("unix:")) {
    const socketPath = gateway.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (!socketPath.startsWith("/") || socketPath.includes("\0"))
      throw new TypeError("unix: is followed by the socket's absolute path");
    return { secure: false, host: "crab", port: 80, prefix: "", socketPath };
  }
  const url = URL.canParse?.(gateway) === false ? undefined : new URL(gateway);
  const scheme = url && schemes[url.protocol];
  if (!url || !scheme)
    throw new TypeError("a gateway's address starts with https://, http:// or unix:/");
  if (url.username !== "" || url.password !== "")
    throw new TypeError("a gateway's address has no user name; give the token by itself");
  if (!scheme.secure) refusePlain(url, options);
  return {
    secure: scheme.secure,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? scheme.port : Number(url.port),
    prefix: url.pathname.replace(/\/+$/, ""),
  };
}
