import { chmodSync, lstatSync, unlinkSync } from "node:fs";
import { connect, type Server } from "node:net";

const longestPath = 107; // of a Unix socket's address

/**
 * Listens on a Unix socket that those may open whom `mode` lets. A file that another process left
 * is replaced, one at which somebody answers is not.
 */
export async function listenUnix(server: Server, path: string, mode = 0o600): Promise<void> {
  if (Buffer.byteLength(path) > longestPath)
    throw new Error(`${path}: the path of a socket has at most ${longestPath} bytes`);
  if (isThere(path)) {
    if (!lstatSync(path).isSocket()) throw new Error(`${path} is no socket; it stays as it is`);
    if (await answers(path)) throw new Error(`${path}: another process listens there`);
    unlinkSync(path);
  }
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const before = process.umask(0o777 & ~mode);
    try {
      server.listen(path, () => {
        server.off("error", reject);
        resolve();
      });
    } finally {
      process.umask(before);
    }
  });
  chmodSync(path, mode);
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
