/**
 * As much of a WebSocket as a device needs; the browser's, Node's and the `ws` package's all have
 * it.
 */
export interface Socket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

export type SocketConstructor = new (url: string, protocols: string[]) => Socket;

/** As much of a request as a device needs. */
export interface FetchOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Blob;
  signal?: AbortSignal;
}

/** Clock, randomness and network; tests supply their own. */
export interface Platform {
  /** Milliseconds, as `Date.now()`. */
  now(): number;
  /** Runs `work` later and returns what cancels it. */
  after(ms: number, work: () => void): () => void;
  /** In [0, 1). */
  random(): number;
  openSocket(url: string, protocols: string[]): Socket;
  fetch(url: string, init: FetchOptions): Promise<Response>;
}

/**
 * The real ones. `webSocket` is for Node before 22, which has none of its own: `import { WebSocket
 * } from "ws"`.
 */
export function defaultPlatform(webSocket?: SocketConstructor): Platform {
  const constructor = webSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
  return {
    now: () => Date.now(),
    after: (ms, work) => {
      const timer = setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
    random: () => Math.random(),
    openSocket: (url, protocols) => {
      if (constructor === undefined)
        throw new TypeError(
          "there is no WebSocket here; give one with DeviceOptions.webSocket, such as that of " +
            "the package ws",
        );
      return new constructor(url, protocols);
    },
    fetch: (url, init) => fetch(url, init),
  };
}
