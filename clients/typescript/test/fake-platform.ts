import type { FetchOptions, Socket, Platform } from "../src/platform.js";

/** A socket whose other side is the test. */
export class FakeSocket implements Socket {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly sent: Array<Record<string, unknown>> = [];
  closed: { code?: number; reason?: string } | undefined;
  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {}

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(code?: number, reason?: string): void {
    this.closed = { ...(code !== undefined && { code }), ...(reason !== undefined && { reason }) };
  }

  /** As the gateway: takes the connection and says who it is. */
  open(extra: Record<string, unknown> = {}): void {
    this.onopen?.({} as never);
    this.say({ type: "session_start", v: 1, session_id: "s-1", resumed: false, message_count: 0 });
    this.say({ type: "connected", v: 1, message: "hello", ...extra });
    const tools = this.sent.filter((frame) => frame["type"] === "register_tools").at(-1)?.[
      "tools"
    ] as unknown[] | undefined;
    this.say({
      type: "tools_registered",
      count: tools?.length ?? 0,
      registered: tools?.length ?? 0,
    });
  }
  say(frame: Record<string, unknown>): void {
    this.onmessage?.({ data: JSON.stringify(frame) } as never);
  }
  end(code: number, reason = ""): void {
    this.onclose?.({ code, reason } as never);
  }
  /** The frames of one type that came. */
  frames(type: string): Array<Record<string, unknown>> {
    return this.sent.filter((frame) => frame["type"] === type);
  }
}

/** Time that moves when the test says so, and a network that is the test. */
export class FakePlatform implements Platform {
  readonly sockets: FakeSocket[] = [];
  /** What the next fetch gets; without one the gateway is not reachable. */
  response: Response | undefined;
  /** The same for tests where it depends; a number is an empty answer of that status. */
  respond: ((path: string, options: FetchOptions) => object | number | undefined) | undefined;
  readonly asked: Array<{ path: string; options: FetchOptions }> = [];
  private time = 1_000_000;
  private timers: Array<{ at: number; work: () => void }> = [];

  now(): number {
    return this.time;
  }
  after(ms: number, work: () => void): () => void {
    const timer = { at: this.time + ms, work };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((other) => other !== timer);
    };
  }
  random(): number {
    return 1;
  }
  openSocket(url: string, protocols: string[]): Socket {
    const socket = new FakeSocket(url, protocols);
    this.sockets.push(socket);
    return socket;
  }
  async fetch(url: string, options: FetchOptions): Promise<Response> {
    const path = url.replace(/^https?:\/\/[^/]*/, "");
    this.asked.push({ path, options });
    const answer = await (this.respond ? this.respond(path, options) : this.response);
    if (answer === undefined) throw new TypeError("network");
    if (answer instanceof Response) return answer;
    return typeof answer === "number"
      ? new Response("{}", { status: answer })
      : new Response(JSON.stringify(answer));
  }

  get socket(): FakeSocket {
    const last = this.sockets.at(-1);
    if (!last) throw new Error("nothing was dialled");
    return last;
  }

  /** Lets `ms` pass, timer after timer. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers
        .filter((timer) => timer.at <= end)
        .sort((left, right) => left.at - right.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.work();
    }
    this.time = end;
  }
}

/** Lets everything run that waits for nothing but its turn. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; ++i) await Promise.resolve();
}

/** Lets real work outside of the fake clock end, such as WebCrypto's, until `condition` holds. */
export async function eventually(condition: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!condition() && performance.now() < end) await new Promise((done) => setTimeout(done, 1));
  if (!condition()) throw new Error("it never came to that");
}
