import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

const magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const mostMessageBytes = 65_536;
const closeMs = 1_000;

/**
 * The server's side of a WebSocket for a handshake: small messages, text or binary, whole or in
 * fragments; a message above 64 KiB closes with 1009, what breaks RFC 6455 with 1002.
 */
export class TextSocket {
  onText: (text: string) => void = () => {};
  onClosed: () => void = () => {};
  private rest: Buffer = Buffer.alloc(0);
  private fragments: Buffer[] = [];
  private size = 0;
  private closing = false;

  /** Answers the upgrade; undefined after a refusal. */
  static accept(request: IncomingMessage, socket: Socket, head: Buffer): TextSocket | undefined {
    const key = request.headers["sec-websocket-key"];
    const refuse = (status: string, extra = "") => {
      socket.end(`HTTP/1.1 ${status}\r\n${extra}Connection: close\r\nContent-Length: 0\r\n\r\n`);
      return undefined;
    };
    if (request.headers.origin !== undefined) return refuse("403 Forbidden");
    if (request.headers.upgrade?.toLowerCase() !== "websocket" || request.method !== "GET")
      return refuse("400 Bad Request");
    if (request.headers["sec-websocket-version"] !== "13")
      return refuse("426 Upgrade Required", "Sec-WebSocket-Version: 13\r\n");
    if (typeof key !== "string" || Buffer.from(key, "base64").length !== 16)
      return refuse("400 Bad Request");
    const accept = createHash("sha1").update(key + magic).digest("base64");
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    return new TextSocket(socket, head);
  }

  private constructor(
    private readonly socket: Socket,
    head: Buffer,
  ) {
    socket.setTimeout(0);
    socket.on("data", (bytes: Buffer) => this.onBytes(bytes));
    socket.once("close", () => this.onClosed());
    socket.once("end", () => socket.destroySoon());
    if (head.length > 0) setImmediate(() => this.onBytes(head));
  }

  send(text: string): void {
    if (!this.closing) this.write(0x1, Buffer.from(text));
  }

  close(code: number): void {
    if (this.closing) return;
    this.closing = true;
    const bytes = Buffer.alloc(2);
    bytes.writeUInt16BE(code);
    this.write(0x8, bytes);
    const timer = setTimeout(() => this.socket.destroy(), closeMs);
    this.socket.once("close", () => clearTimeout(timer));
  }

  private write(opcode: number, content: Buffer): void {
    const { length } = content;
    const head = Buffer.alloc(length < 126 ? 2 : 4);
    head[0] = 0x80 | opcode;
    head[1] = length < 126 ? length : 126;
    if (length >= 126) head.writeUInt16BE(length, 2);
    this.socket.write(Buffer.concat([head, content]));
  }

  private onBytes(bytes: Buffer): void {
    this.rest = Buffer.concat([this.rest, bytes]);
    while (this.takeFrame()) {
      // one after the other
    }
  }

  /** False when no whole frame is there, or none is taken any more. */
  private takeFrame(): boolean {
    const { rest } = this;
    if (rest.length < 2) return false;
    const [first = 0, second = 0] = rest;
    const [final, opcode] = [(first & 0x80) !== 0, first & 0x0f];
    const control = opcode >= 0x8;
    let length = second & 0x7f;
    let at = 2;
    if (length === 126) {
      if (rest.length < 4) return false;
      length = rest.readUInt16BE(2);
      at = 4;
    } else if (length === 127) {
      return this.refuse(1009);
    }
    if ((first & 0x70) !== 0 || (second & 0x80) === 0 || (control && (!final || length > 125)))
      return this.refuse(1002);
    if (!control && this.size + length > mostMessageBytes) return this.refuse(1009);
    if (rest.length < at + 4 + length) return false;
    const mask = rest.subarray(at, at + 4);
    const content = Buffer.from(rest.subarray(at + 4, at + 4 + length));
    for (let i = 0; i < length; ++i) content[i] = (content[i] as number) ^ (mask[i % 4] as number);
    this.rest = rest.subarray(at + 4 + length);
    return this.onFrame(opcode, final, content);
  }

  private onFrame(opcode: number, final: boolean, content: Buffer): boolean {
    switch (opcode) {
      case 0x8:
        this.close(1000);
        this.socket.end();
        return false;
      case 0x9:
        if (!this.closing) this.write(0xa, content);
        return true;
      case 0xa:
        return true;
      case 0x0:
      case 0x1:
      case 0x2:
        if ((opcode === 0) !== this.fragments.length > 0) return this.refuse(1002);
        this.fragments.push(content);
        this.size += content.length;
        if (!final) return true;
        return this.onMessage();
      default:
        return this.refuse(1002);
    }
  }

  private onMessage(): boolean {
    const bytes = Buffer.concat(this.fragments);
    this.fragments = [];
    this.size = 0;
    if (this.closing) return true;
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      return this.refuse(1007);
    }
    this.onText(text);
    return true;
  }

  private refuse(code: number): false {
    this.close(code);
    this.socket.removeAllListeners("data");
    this.socket.resume(); // a sender that still writes reads why, and then the end
    return false;
  }
}
