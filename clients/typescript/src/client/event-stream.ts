/** One server-sent event. */
export interface StreamEvent {
  type: string;
  data: string;
}

/**
 * Takes a stream of server-sent events apart, which may be cut anywhere. Throws a RangeError for an
 * event above the limit.
 */
export class EventStreamParser {
  private readonly decoder = new TextDecoder("utf-8");
  private rest = "";
  private type = "";
  private data: string[] = [];
  private size = 0;
  private sawCr = false;

  constructor(private readonly maxEventChars: number) {}

  push(part: Uint8Array): StreamEvent[] {
    const events: StreamEvent[] = [];
    this.rest += this.decoder.decode(part, { stream: true });
    let begin = 0;
    for (;;) {
      if (this.sawCr && begin < this.rest.length) {
        if (this.rest[begin] === "\n") ++begin;
        this.sawCr = false;
      }
      const end = lineEnd(this.rest, begin);
      if (end < 0) break;
      this.onLine(this.rest.slice(begin, end), events);
      this.sawCr = this.rest[end] === "\r";
      begin = end + 1;
    }
    this.rest = this.rest.slice(begin);
    if (this.rest.length + this.size > this.maxEventChars)
      throw new RangeError("an event of the stream is larger than its limit");
    return events;
  }

  private onLine(line: string, events: StreamEvent[]): void {
    if (line === "") {
      if (this.data.length > 0)
        events.push({ type: this.type || "message", data: this.data.join("\n") });
      this.type = "";
      this.data = [];
      this.size = 0;
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.type = value;
    else if (field === "data") {
      this.data.push(value);
      this.size += value.length + 1;
    }
  }
}

function lineEnd(text: string, begin: number): number {
  const lf = text.indexOf("\n", begin);
  const cr = text.indexOf("\r", begin);
  if (lf < 0 || cr < 0) return Math.max(lf, cr);
  return Math.min(lf, cr);
}
