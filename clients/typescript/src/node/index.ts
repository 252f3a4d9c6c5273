export { fileKeyStore } from "./file-key-store.js";
export { type KeyStore, type StoredKey } from "../device-key.js";
