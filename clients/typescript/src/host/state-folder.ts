import { createServer, type Server } from "node:net";
import { join } from "node:path";

import { openPrivateFolder } from "../node/private-file.js";
import { KnownCalls } from "./known-calls.js";
import { listenUnix } from "./unix-socket.js";

/**
 * The folder of one host, mode 0700. While it is open no other host can use it: a socket in it
 * shows that somebody is there, and shows nothing after a crash.
 */
export class StateFolder {
  private constructor(
    readonly path: string,
    readonly calls: KnownCalls,
    private readonly lock: Server,
  ) {}

  static async open(path: string): Promise<StateFolder> {
    openPrivateFolder(path);
    const lock = createServer((socket) => socket.destroy());
    await listenUnix(lock, join(path, "lock"));
    lock.unref();
    try {
      return new StateFolder(path, await KnownCalls.open(join(path, "calls.jsonl")), lock);
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.calls.close();
    await new Promise<void>((resolve) => this.lock.close(() => resolve()));
  }
}
