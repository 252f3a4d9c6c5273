export { type CallNews } from "./call-runner.js";
export {
  type Answer,
  type Consent,
  ConsentBook,
  type Decision,
  type DecisionStore,
  storedDecisions,
} from "./consent.js";
export { base64Of } from "./base64.js";
export { browserKeyStore } from "./browser-key-store.js";
export { defineTool, type TypedCall, type TypedTool } from "./define-tool.js";
export { DeviceKey, hasDeviceKeys, type KeyStore, type StoredKey } from "./device-key.js";
export { Device, type DeviceEnd, type DeviceEvent, type DeviceOptions } from "./device.js";
export { type ErrorCode, errorCodes } from "./error-codes.js";
export {
  type Annotations,
  type Caller,
  type Json,
  type JsonObject,
  type Presence,
  type Rejected,
  type UploadTerms,
} from "./frames.js";
export { GatewayAddress } from "./gateway-address.js";
export { codeFromLink, normalizeCode, pair, PairingError } from "./pairing.js";
export { type PlainOptions } from "./plain-http.js";
export {
  type FetchOptions,
  defaultPlatform,
  type Socket,
  type SocketConstructor,
  type Platform,
} from "./platform.js";
export { type ArgsOf, type FromSchema, type Schema } from "./schema-types.js";
export { TokenRefused, type TokenSource } from "./token-source.js";
export { type Tool, type ToolCall, ToolError, type ToolHandler, type ToolResult } from "./tool.js";
