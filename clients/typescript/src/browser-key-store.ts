import type { KeyStore, StoredKey } from "./device-key.js";

const table = "keys";
const only = "device"; // one key for each name

/**
 * Keeps a key in the browser's IndexedDB, for this origin alone: pages can use it, and its private
 * key cannot be exported.
 */
export function browserKeyStore(name: string): KeyStore {
  return {
    load: () => inTable<StoredKey | undefined>(name, "readonly", (keys) => keys.get(only)),
    save: async (key) => void (await inTable(name, "readwrite", (keys) => keys.put(key, only))),
    forget: async () => void (await inTable(name, "readwrite", (keys) => keys.delete(only))),
  };
}

async function inTable<T>(
  name: string,
  mode: IDBTransactionMode,
  act: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(name, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(table);
  const base = await settled(opening);
  try {
    return await settled(act(base.transaction(table, mode).objectStore(table)));
  } finally {
    base.close(); // waits for the transaction
  }
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((done, failed) => {
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error ?? new Error("the browser's database failed"));
  });
}
