import { type PlainOptions, refusePlain } from "./plain-http.js";

/**
 * Where a gateway is: `https://host:42617`, with `http` for one on loopback; `wss:` and `ws:` mean
 * the same. A path prefix may follow the host.
 */
export class GatewayAddress {
  private constructor(private readonly base: URL) {}

  /**
   * Throws a TypeError for any other text, and for `http` beyond this machine unless `allowPlain`:
   * a token would travel in the clear.
   */
  static parse(text: string, options: PlainOptions = {}): GatewayAddress {
    const base = new URL(text);
    const schemes: Record<string, string> = {
      "ws:": "http:",
      "wss:": "https:",
      "http:": "http:",
      "https:": "https:",
    };
    const scheme = schemes[base.protocol];
    if (scheme === undefined)
      throw new TypeError(
        `a gateway's address starts with https:// or http://, not ${base.protocol}`,
      );
    const plain = new URL(`${scheme}//${base.host}${base.pathname.replace(/\/+$/, "")}`);
    if (scheme === "http:") refusePlain(plain, options);
    return new GatewayAddress(plain);
  }

  /** The address of a route, such as `/pair`. */
  route(path: string): string {
    return this.base.origin + this.base.pathname.replace(/\/+$/, "") + path;
  }

  /** The WebSocket endpoint; `sessionId` resumes a chat session. */
  endpoint(sessionId?: string): string {
    const query = sessionId ? `?session_id=${encodeURIComponent(sessionId)}` : "";
    return this.route("/ws/chat").replace(/^http/, "ws") + query;
  }
}
