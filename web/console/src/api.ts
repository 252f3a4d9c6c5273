/** What a refusal says, in whichever of the two forms it came. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly next = "",
  ) {
    super(message);
  }
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** The refusal that a body describes; a body that is none still has a status to tell. */
export function refusal(status: number, body: unknown): ApiError {
  const outer = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const inner = (
    typeof outer["error"] === "object" && outer["error"] !== null ? outer["error"] : outer
  ) as Record<string, unknown>;
  const message = text(inner["message"]) || text(outer["error"]);
  const words = message || `the gateway answered ${status} without a word`;
  return new ApiError(status, text(inner["code"]) || `HTTP_${status}`, words, text(inner["next"]));
}

export interface Identity {
  readonly principal: string;
  readonly roles: readonly string[];
  readonly may: readonly string[];
  readonly expires_at: string;
  readonly version: string;
}

/** Where the page's half of the session is kept. */
export const KEY = "crab-console-key";
const PATIENCE_MS = 15_000;

/**
 * Requests to the service that serves the page. The browser keeps one half of the session, a
 * cookie that no script sees; this object sends the other half, which no other port of the host
 * can read.
 */
export class Api {
  /** Called once a request is answered 401: the session is over, nothing more is worth trying. */
  onSignedOut: () => void = () => undefined;

  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">,
    private readonly send: typeof fetch = (...of) => fetch(...of),
  ) {}

  get hasKey(): boolean {
    return this.storage.getItem(KEY) !== null;
  }

  /** Exchanges the one-time code of a printed link for a session. */
  async signIn(code: string): Promise<Identity> {
    const answer = await this.request<Identity & { key?: unknown }>("POST", "./session", { code });
    if (typeof answer.key !== "string" || answer.key === "")
      throw new ApiError(200, "NO_KEY", "the answer to the sign-in has no key; reload the page");
    this.storage.setItem(KEY, answer.key);
    return answer;
  }

  identity(): Promise<Identity> {
    return this.request<Identity>("GET", "./session");
  }

  async signOut(): Promise<void> {
    await this.request("DELETE", "./session");
    this.forget();
  }

  forget(): void {
    this.storage.removeItem(KEY);
  }

  get<T>(path: string): Promise<T> {
    return this.request<T>("GET", `./api${path}`);
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.request<T>("POST", `./api${path}`, body);
  }

  private async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { accept: "application/json" };
    const key = this.storage.getItem(KEY);
    if (key !== null) headers["crab-console-key"] = key;
    if (body !== undefined) headers["content-type"] = "application/json";
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
    try {
      const init: RequestInit = { method, headers, signal: patience.signal, redirect: "error" };
      if (body !== undefined) init.body = JSON.stringify(body);
      const answer = await this.send(path, init);
      const read: unknown = answer.status === 204 ? {} : await answer.json().catch(() => undefined);
      if (answer.ok && read !== undefined) return read as T;
      if (answer.status === 401 && key !== null) {
        const now = this.storage.getItem(KEY);
        if (now !== null && now !== key)
          throw new ApiError(0, "SESSION_CHANGED", "another tab has signed in meanwhile");
        this.forget();
        this.onSignedOut();
      }
      throw refusal(answer.status, read);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError(0, "NOT_CONNECTED", "the gateway cannot be reached");
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * The code in `#in=…`, if there is one, and the address without it. The caller replaces the
 * address before anything is sent, so that no history, referrer or screenshot keeps the code.
 */
export function codeOf(hash: string): string | undefined {
  return /^#in=([\w-]{1,128})$/.exec(hash)?.[1];
}
