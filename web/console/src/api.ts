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

/** A foreign text as one part of a path; half of a character, which has no place there, goes. */
export const segment = (name: string): string =>
  encodeURIComponent(name.replace(/[\ud800-\udfff]/gu, "\ufffd"));

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

/** A key's signature of a challenge. */
export interface Proof {
  readonly key_id: string;
  readonly nonce: string;
  readonly signature: string;
}

/** What a passkey answers to a challenge, in base64url. */
export interface PasskeyAnswer {
  readonly id: string;
  readonly client_data: string;
  readonly authenticator_data: string;
  readonly signature: string;
  /** Whose it is, as the authenticator knows them; it may leave that out if we say who. */
  readonly user_handle?: string;
}

/** A new passkey, in base64url. */
export type PasskeyAddition = Omit<PasskeyAnswer, "signature" | "user_handle"> & {
  readonly public_key: string;
  readonly label: string;
};

export interface PasskeyChallenge {
  readonly challenge: string;
  readonly rp_id: string;
  readonly user?: { readonly id: string; readonly name: string };
  readonly known?: readonly string[];
  /** Whether a key was proven just now, in the session that there is. */
  readonly proven?: boolean;
}

export interface Passkey {
  readonly key_id: string;
  readonly id: string;
  readonly label: string;
  readonly created_at: string;
  readonly last_used_at?: string;
}

/** What a session is given for; codes and tokens are not kept. */
export type WayIn =
  | { readonly code: string }
  | { readonly token: string }
  | { readonly passkey: PasskeyAnswer }
  | Proof;

/** Where the page's half of the session is kept. */
export const KEY = "crab-console-key";
const PATIENCE_MS = 15_000;
const PASSKEYS = "./session/passkeys";

/**
 * Requests to the service that serves the page. The browser keeps one half of the session, a
 * cookie that no script sees; this object sends the other half, which no other port of the host
 * can read.
 */
export class Api {
  /**
   * Called when a request needs a key that was proven just now; whether it was, and is worth
   * another try.
   */
  onKeyNeeded: () => Promise<boolean> = () => Promise.resolve(false);
  /** Called once a request is answered 401: the session is over, nothing more is worth trying. */
  onSignedOut: () => void = () => undefined;

  constructor(
    private readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">,
    private readonly send: typeof fetch = (...of) => fetch(...of),
  ) {}

  get hasKey(): boolean {
    return this.storage.getItem(KEY) !== null;
  }

  /** Exchanges the one-time code of a printed link, or a token, for a session. */
  async signIn(way: WayIn): Promise<Identity> {
    const answer = await this.request<Identity & { key?: unknown }>("POST", "./session", way);
    if (typeof answer.key !== "string" || answer.key === "")
      throw new ApiError(200, "NO_KEY", "the answer to the sign-in has no key; reload the page");
    this.storage.setItem(KEY, answer.key);
    return answer;
  }

  /** What a key is to sign. */
  async challenge(): Promise<string> {
    const { nonce } = await this.request<{ nonce?: unknown }>("POST", "./session/challenge", {});
    if (typeof nonce === "string") return nonce;
    throw new ApiError(200, "NO_CHALLENGE", "the gateway gave nothing to sign");
  }

  async prove(proof: Proof | { readonly passkey: PasskeyAnswer }): Promise<void> {
    await this.request("POST", "./session/proof", proof);
  }

  passkeyChallenge(): Promise<PasskeyChallenge> {
    return this.request("POST", "./session/passkeys/challenge", {});
  }

  passkeys(): Promise<{ readonly passkeys: readonly Passkey[] }> {
    return this.request("GET", PASSKEYS);
  }

  async addPasskey(made: PasskeyAddition): Promise<void> {
    await this.request("POST", PASSKEYS, made);
  }

  async removePasskey(keyId: string): Promise<void> {
    await this.request("DELETE", `${PASSKEYS}/${segment(keyId)}`);
  }

  /** Gives a key's public half to the gateway for a pairing code; the id that it has there. */
  async pairKey(code: string, publicKey: string): Promise<string> {
    const headers = { "content-type": "application/json", "x-pairing-code": code };
    const body = JSON.stringify({ public_key: publicKey });
    const answer = await this.send("../pair", { method: "POST", headers, body, redirect: "error" });
    const read: unknown = await answer.json().catch(() => undefined);
    const id = (read as { key_id?: unknown } | undefined)?.key_id;
    if (answer.ok && typeof id === "string") return id;
    throw refusal(answer.status, read);
  }

  identity(): Promise<Identity> {
    return this.request<Identity>("GET", "./session");
  }

  /** What a WebSocket is opened with: good once and for half a minute. */
  async ticket(): Promise<string> {
    const { ticket } = await this.request<{ ticket?: unknown }>("POST", "./session/ticket", {});
    if (typeof ticket === "string" && ticket !== "") return ticket;
    throw new ApiError(200, "NO_TICKET", "the gateway gave no ticket for a WebSocket");
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

  put<T>(path: string, body: unknown): Promise<T> {
    return this.request<T>("PUT", `./api${path}`, body);
  }

  patch<T>(path: string, body: unknown): Promise<T> {
    return this.request<T>("PATCH", `./api${path}`, body);
  }

  delete<T>(path: string): Promise<T> {
    return this.request<T>("DELETE", `./api${path}`);
  }

  /** An answer of any form, such as a stream of events or the bytes of an artifact. */
  async open(
    path: string,
    { method = "GET", body, accept = "*/*", signal }: Opening = {},
  ): Promise<Response> {
    const key = this.storage.getItem(KEY);
    const answer = await this.sent(method, `./api${path}`, { accept, body, signal, key });
    if (answer.ok) return answer;
    this.refused(answer.status, key);
    throw refusal(answer.status, await answer.json().catch(() => undefined));
  }

  private async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    try {
      return await this.requestOnce<T>(method, path, body);
    } catch (error) {
      // A tool may answer so, too, for its own reasons.
      const wanted = error instanceof ApiError && error.code === "AUTH_REQUIRED";
      const ours =
        path.startsWith(PASSKEYS) ||
        (path.startsWith("./api/") && !path.startsWith("./api/v1/tools/"));
      if (!wanted || !ours || !(await this.onKeyNeeded())) throw error;
      return this.requestOnce<T>(method, path, body);
    }
  }

  private async requestOnce<T>(method: string, path: string, body?: unknown): Promise<T> {
    const key = this.storage.getItem(KEY);
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
    try {
      const { signal } = patience;
      const accept = "application/json";
      const answer = await this.sent(method, path, { accept, body, signal, key });
      const read: unknown = answer.status === 204 ? {} : await answer.json().catch(() => undefined);
      if (answer.ok && read !== undefined) return read as T;
      this.refused(answer.status, key);
      throw refusal(answer.status, read);
    } finally {
      clearTimeout(timer);
    }
  }

  private async sent(
    method: string,
    path: string,
    { accept, body, signal, key }: Omit<Opening, "method"> & { readonly key: string | null },
  ): Promise<Response> {
    const headers: Record<string, string> = { accept: accept ?? "*/*" };
    if (key !== null) headers["crab-console-key"] = key;
    if (body !== undefined) headers["content-type"] = "application/json";
    const init: RequestInit = { method, headers, redirect: "error" };
    if (signal) init.signal = signal;
    if (body !== undefined) init.body = JSON.stringify(body);
    try {
      return await this.send(path, init);
    } catch {
      throw new ApiError(0, "NOT_CONNECTED", "the gateway cannot be reached");
    }
  }

  /** After a 401 of a request with `key`: nothing more is worth trying. */
  private refused(status: number, key: string | null): void {
    if (status !== 401 || key === null) return;
    const now = this.storage.getItem(KEY);
    if (now !== null && now !== key)
      throw new ApiError(0, "SESSION_CHANGED", "another tab has signed in meanwhile");
    this.forget();
    this.onSignedOut();
  }
}

export interface Opening {
  readonly method?: string;
  readonly body?: unknown;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

/** The pairing code in `#pair=…`, which gives this browser a key; handled as that of `#in=…`. */
export function pairingCodeOf(hash: string): string | undefined {
  return /^#pair=(\d{4}-?\d{4}-?\d{4})$/.exec(hash)?.[1];
}

/**
 * The code in `#in=…`, if there is one, and the address without it. The caller replaces the
 * address before anything is sent, so that no history, referrer or screenshot keeps the code.
 */
export function codeOf(hash: string): string | undefined {
  return /^#in=([\w-]{1,128})$/.exec(hash)?.[1];
}
