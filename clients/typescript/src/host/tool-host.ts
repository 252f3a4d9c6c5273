import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";

import type { Schema } from "../schema-types.js";
import { CallEngine } from "./call-engine.js";
import { HostServer, serverOptions } from "./host-server.js";
import { type HostTool, offered, type OfferedTool } from "./host-tool.js";
import { KnownCalls } from "./known-calls.js";
import { PairedDoor } from "./pairing/paired-door.js";
import { publicKeyOf, rawPublicKey, RemoteState } from "./pairing/remote-state.js";
import { StateFolder } from "./state-folder.js";
import { listenUnix } from "./unix-socket.js";

export interface ToolHostOptions {
  /** A line for the operator: what a handler threw, a pairing. Default: standard error. */
  log?: (line: string) => void;
}

/** Where a host on the gateway's machine listens. */
export interface UnixListen {
  /** The socket's path. */
  unix: string;
  /** Of the socket: who may connect, that is, call. Default 0o600, its owner alone. */
  mode?: number;
  /** A folder of its own, mode 0700: keys of calls then hold across restarts and crashes. */
  stateDir?: string;
}

/** Where a host behind mutual TLS listens, and which gateway may pair with it. */
export interface PairedListen {
  /** `host:port`; port 0: the system chooses. */
  listen: string;
  /** Of the only gateway that may pair, as `crab peers identity` prints it. */
  gatewayKey: string;
  /** As a peer; default: the machine's name. */
  id?: string;
  /** Default `/v1/pair`. */
  pairPath?: string;
  /** A folder of its own, mode 0700: keys, certificates, and the keys of calls. */
  stateDir: string;
}

const mostTools = 1_024;
const graceMs = 10_000;

interface Serving {
  server: HostServer;
  engine: CallEngine;
  folder: StateFolder | undefined;
  address: string;
  /** As it was asked for, for the ready line. */
  word: "unix" | "listen";
  remoteKey: string;
}

/**
 * A process that offers tools to a gateway: on a Unix socket of this machine, or behind mutual TLS
 * after `crab peers pair tool`.
 *
 *     const host = new ToolHost("weather");
 *     host.tool({
 *       name: "weather.today",
 *       description: "Today's weather in a city",
 *       parameters: {
 *         type: "object",
 *         properties: { city: { type: "string" } },
 *         required: ["city"],
 *       },
 *       sideEffects: false,
 *       handler: ({ args }) => ({ city: args.city, sky: "clear" }),
 *     });
 *     process.exitCode = await host.serve({ unix: "/run/crab/weather.sock" });
 *
 * The host does what handlers should not have to: it checks requests, arguments and results, runs
 * repeats of a key once, ends each call at its deadline whatever the handler does, enforces limits
 * (64 calls run, 256 wait), cancels, and shuts down cleanly. Handlers share one thread: one that
 * computes for long belongs into a worker. Source: docs/protocols/rtp.md, sections 1 to 3.
 */
export class ToolHost {
  private readonly tools = new Map<string, OfferedTool>();
  private readonly log: (line: string) => void;
  private serving: Serving | undefined;
  private starting = false;

  constructor(
    readonly name: string,
    options: ToolHostOptions = {},
  ) {
    this.log = options.log ?? ((line) => console.error(line));
  }

  /**
   * Adds a tool, also while the host serves: the gateway lists it within a minute. Throws a
   * TypeError for what no gateway accepts.
   */
  tool<const S extends Schema = Record<string, never>>(tool: HostTool<S>): void {
    if (this.tools.size >= mostTools) throw new TypeError(`a host has at most ${mostTools} tools`);
    const made = offered(tool as unknown as HostTool);
    if (this.tools.has(made.name)) throw new TypeError(`there is a tool ${made.name} already`);
    this.tools.set(made.name, made);
  }

  /** Offers it no more; its calls that run go on. */
  removeTool(name: string): void {
    this.tools.delete(name);
  }

  /** Starts to serve; can be called as soon as this returns. */
  async start(listen: UnixListen | PairedListen): Promise<void> {
    if (this.starting) throw new TypeError("the host is started already");
    this.starting = true;
    let folder: StateFolder | undefined;
    try {
      if (listen.stateDir !== undefined) folder = await StateFolder.open(listen.stateDir);
      const engine = new CallEngine({
        service: this.name,
        tools: this.tools,
        calls: folder?.calls ?? KnownCalls.inMemory(),
        log: this.log,
      });
      const opened =
        "unix" in listen
          ? await this.openUnix(listen, engine)
          : await this.openPaired(listen, engine);
      this.serving = { ...opened, engine, folder };
    } catch (error) {
      await folder?.close();
      this.starting = false;
      throw error;
    }
  }

  /** Where it listens: a path, or `host:port` with the port that the system chose. */
  get address(): string {
    return this.serving?.address ?? "";
  }

  /** Its own key, for `--remote-key` of `crab peers pair`; empty on a Unix socket. */
  get remoteKey(): string {
    return this.serving?.remoteKey ?? "";
  }

  private async openUnix(listen: UnixListen, engine: CallEngine) {
    const http = createServer(serverOptions);
    const server = new HostServer(http, engine, { admit: () => ({ identity: "local" }) });
    await listenUnix(http, listen.unix, listen.mode);
    return { server, address: listen.unix, word: "unix" as const, remoteKey: "" };
  }

  private async openPaired(listen: PairedListen, engine: CallEngine) {
    const id = listen.id ?? hostname();
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id))
      throw new TypeError("an id is 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit");
    const found = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+):(\d{1,5})$/.exec(listen.listen);
    if (!found) throw new TypeError("listen: must be host:port, or [address]:port");
    const host = (found[1] as string).replace(/^\[|\]$/g, "");
    const state = RemoteState.open(join(listen.stateDir, "pairing"), id);
    const tls = () => ({
      cert: state.shown.certificate_pem,
      key: state.shown.key_pem,
      minVersion: "TLSv1.3" as const,
      requestCert: true,
      rejectUnauthorized: false, // the door judges, so that it can say why
    });
    const https = createTlsServer({ ...serverOptions, ...tls(), handshakeTimeout: 5_000 });
    let version = state.version;
    const door = new PairedDoor({
      id,
      state,
      gatewayKey: publicKeyOf("Ed25519", listen.gatewayKey),
      host: ["0.0.0.0", "::"].includes(host) ? undefined : host,
      pairPath: listen.pairPath ?? "/v1/pair",
      onChange: () => {
        if (version !== state.version) https.setSecureContext(tls());
        version = state.version;
      },
      log: this.log,
    });
    const server = new HostServer(https, engine, door);
    await new Promise<void>((resolve, reject) => {
      https.once("error", reject);
      https.listen(Number(found[2]), host, () => {
        https.off("error", reject);
        resolve();
      });
    });
    const { port } = https.address() as AddressInfo;
    const remoteKey = rawPublicKey(state.identityKey);
    return { server, address: `${found[1]}:${port}`, word: "listen" as const, remoteKey };
  }

  /**
   * Serves until SIGINT or SIGTERM; prints `crab host ready name=… unix=…` (or `listen=…`, and
   * before it `remote_key=…`) when it can be called.
   * Returns an exit status: 0, or 1 after a line on standard error.
   */
  async serve(listen: UnixListen | PairedListen): Promise<number> {
    try {
      await this.start(listen);
    } catch (error) {
      this.log(`crab host ${this.name}: ${(error as Error).message}`);
      return 1;
    }
    if (this.remoteKey !== "") process.stdout.write(`remote_key=${this.remoteKey}\n`);
    const where = `${this.serving?.word}=${this.address}`;
    process.stdout.write(`crab host ready name=${this.name} ${where}\n`);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
    });
    await this.stop();
    return 0;
  }

  /** Takes no more calls, gives those that run 10 s, then cancels them and closes. */
  async stop(): Promise<void> {
    const { serving } = this;
    if (!serving) return;
    this.serving = undefined;
    serving.server.drain();
    await serving.engine.stop(graceMs);
    // answers of the calls that have just ended are on their way
    await new Promise((resolve) => setImmediate(resolve));
    await serving.server.close();
    await serving.folder?.close();
    this.starting = false;
  }
}
