export { CallError, type CallFailure } from "./call-error.js";
export { type CallAnswer, type ToolInfo } from "./call-wire.js";
export {
  type CallOptions,
  type PolicyExplanation,
  type StreamPart,
  ToolClient,
  type ToolClientOptions,
} from "./tool-client.js";
export { type Json, type JsonObject } from "../frames.js";
export { type CallContext, type CallStatus } from "../rtp.js";
