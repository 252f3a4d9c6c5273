/** One event of a stream of server-sent events. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  /** Where the stream goes on after it, if it says so. */
  readonly id?: string;
}

const MOST_CHARACTERS = 8 * 1024 * 1024;

/**
 * Takes a stream apart as its pieces come, wherever they are cut. An event that grows without an
 * end is an error; lines of other fields and comments are passed over.
 */
export class ServerEvents {
  private rest = "";
  private event = "";
  private id: string | undefined;
  private data: string[] = [];
  private size = 0;

  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    if (this.rest.length + this.size > MOST_CHARACTERS) throw new Error("an event is too long");
    for (const line of lines) {
      const whole = this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (whole) found.push(whole);
    }
    return found;
  }

  private line(line: string): ServerEvent | undefined {
    if (line === "") {
      const id = this.id === undefined ? {} : { id: this.id };
      const whole = { event: this.event || "message", data: this.data.join("\n"), ...id };
      const any = this.data.length > 0;
      this.event = "";
      this.id = undefined;
      this.data = [];
      this.size = 0;
      return any ? whole : undefined;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "event") this.event = value;
    if (field === "id") this.id = value;
    if (field === "data") {
      this.data.push(value);
      this.size += value.length;
    }
    return undefined;
  }
}

/** The events of an answer's body, until it ends or `signal` does. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events = new ServerEvents();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* events.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
