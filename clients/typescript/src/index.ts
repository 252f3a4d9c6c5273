export { type CallNews } from "./call-runner.js";
export { type Answer, type Consent, ConsentBook, type Decision, type DecisionStore, storedDecisions } from "./consent.js";
export { Device, type DeviceEnd, type DeviceEvent, type DeviceOptions } from "./device.js";
export { type ErrorCode, errorCodes } from "./error-codes.js";
export { type Annotations, type Caller, type Json, type JsonObject, type Rejected } from "./frames.js";
export { GatewayAddress } from "./gateway-address.js";
export { codeFromLink, normalizeCode, pair, PairingError } from "./pairing.js";
export { realSurroundings, type Socket, type SocketConstructor, type Surroundings } from "./surroundings.js";
export { type Tool, type ToolCall, ToolError, type ToolHandler } from "./tool.js";
