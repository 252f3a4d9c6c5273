import { X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

import type { Admitted, Door } from "../host-server.js";
import { type InstalledCertificate, judgeGateway } from "./certificates.js";
import { PairingFailure } from "./messages.js";
import { errorMessage, isSignedInit, RemotePairing } from "./remote-pairing.js";
import type { RemoteState } from "./remote-state.js";
import { TextSocket } from "./text-socket.js";

export interface PairedDoorOptions {
  id: string;
  state: RemoteState;
  gatewayKey: KeyObject;
  host: string | undefined;
  pairPath: string;
  /** The certificates have changed: TLS shows another one from now on. */
  onChange: () => void;
  log: (line: string) => void;
}

const handshakeMs = 15_000;
const silenceMs = 5_000;
const turnMs = 2_000;

/**
 * The door of a host behind mutual TLS: only the gateway that has paired comes in, and only the one
 * that is configured may pair. Source: docs/protocols/rtp.md, sections 3 (rows 1 and 2), 5 and 6.
 */
export class PairedDoor implements Door {
  readonly secure = true;
  private readonly good = new WeakMap<Socket, { version: number; until: number; id: string }>();
  private turn: Promise<void> | undefined;
  private turnWaits = false;

  constructor(private readonly options: PairedDoorOptions) {}

  admit(request: IncomingMessage): Admitted {
    const { state } = this.options;
    const socket = request.socket as TLSSocket;
    const known = this.good.get(socket);
    if (known && known.version === state.version && Date.now() < known.until)
      return { identity: known.id };
    const { paired, installed } = state;
    if (!paired && !installed) return notPaired();
    const shown = shownBy(socket);
    if (!shown) return paired ? unproven() : notPaired();
    if (installed && judgeGateway(installed, shown, Date.now()) === "good") {
      this.completeLostEnd(installed);
      return this.remember(socket, shown, installed);
    }
    if (!paired) return notPaired();
    const verdict = judgeGateway(paired, shown, Date.now());
    if (verdict === "good") return this.remember(socket, shown, paired);
    return verdict === 401
      ? unproven()
      : {
          status: 403,
          code: "FORBIDDEN",
          message: "the certificate is not that of the gateway that paired this host",
        };
  }

  /** Whether the path is for an upgrade alone. */
  pairs(path: string): boolean {
    return path === this.options.pairPath || path === "/";
  }

  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): boolean {
    if (!this.pairs(request.url ?? "")) return false;
    const link = TextSocket.accept(request, socket, head);
    if (link) void this.pair(link);
    return true;
  }

  private remember(socket: Socket, shown: X509Certificate, by: InstalledCertificate): Admitted {
    const identity = `gateway/${by.gateway_id}`;
    const until = Math.min(
      Date.parse(shown.validTo),
      Date.parse(new X509Certificate(by.ca_pem).validTo),
    );
    this.good.set(socket, { version: this.options.state.version, until, id: identity });
    return { identity };
  }

  /** The gateway calls with the certificate of a pairing whose last message got lost. */
  private completeLostEnd(installed: InstalledCertificate): void {
    const { state, log, onChange } = this.options;
    try {
      state.complete(installed.pairing_id);
      onChange();
      log("a pairing whose last message was lost is complete: its gateway called");
    } catch (error) {
      log(`the end of a pairing cannot be stored: ${(error as Error).message}`);
    }
  }

  private async pair(link: TextSocket): Promise<void> {
    const { gatewayKey, log, onChange } = this.options;
    const texts: string[] = [];
    let wake: () => void = () => {};
    let closed = false;
    link.onText = (text) => {
      if (texts.length < 4) texts.push(text);
      wake();
    };
    link.onClosed = () => {
      closed = true;
      wake();
    };
    const began = Date.now();
    /** The next text; undefined: the connection has ended. Throws after the deadline. */
    const next = async (until: number): Promise<string | undefined> => {
      while (texts.length === 0 && !closed) {
        if (Date.now() >= until) throw new PairingFailure("TIMEOUT", "no message came in time");
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, until - Date.now());
        });
        clearTimeout(timer);
      }
      return texts.shift();
    };
    const pairing = new RemotePairing({ ...this.options, now: () => Date.now() });
    let leave: () => void = () => {};
    try {
      const first = await next(began + silenceMs);
      if (first === undefined) return;
      if (isSignedInit(first, gatewayKey)) leave = await this.takeTurn();
      for (let text: string | undefined = first; text !== undefined && !pairing.paired; ) {
        const answers = pairing.onMessage(text);
        onChange();
        for (const answer of answers) link.send(answer);
        if (!pairing.paired) text = await next(began + handshakeMs);
      }
      if (pairing.paired) {
        log("paired with the gateway");
        link.close(1000);
      } else {
        log("pairing failed: the connection ended before the handshake did");
      }
    } catch (error) {
      const failure =
        error instanceof PairingFailure ? error : new PairingFailure("INTERNAL", "it failed");
      onChange();
      log(`pairing failed: ${failure.code}: ${failure.message}`);
      if (failure.code !== "REMOTE_REFUSED")
        link.send(errorMessage(pairing.pairingId, failure));
      link.close(1000);
    } finally {
      leave();
    }
  }

  private isTaken(): boolean {
    return this.turn !== undefined;
  }

  /** One handshake at a time; one more waits a moment for its end. */
  private async takeTurn(): Promise<() => void> {
    if (this.turn) {
      if (this.turnWaits) throw busy();
      this.turnWaits = true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, turnMs)));
      await Promise.race([this.turn, late]);
      clearTimeout(timer);
      this.turnWaits = false;
      if (this.isTaken()) throw busy();
    }
    let end: () => void = () => {};
    this.turn = new Promise((resolve) => (end = resolve));
    return () => {
      this.turn = undefined;
      end();
    };
  }
}

function busy(): PairingFailure {
  return new PairingFailure("BUSY", "another handshake is running; try again in some seconds");
}

function notPaired(): Admitted {
  const message = "this host is not paired with a gateway; run crab peers pair tool there";
  return { status: 403, code: "PAIRING_REQUIRED", message };
}

function unproven(): Admitted {
  return { status: 401, code: "UNAUTHORIZED", message: "show the gateway's certificate" };
}

/** Whose key the other side has proven; undefined: it showed none. */
function shownBy(socket: TLSSocket): X509Certificate | undefined {
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer };
  return raw && new X509Certificate(raw);
}
