export { type HostCall, type HostResult, type HostTool } from "./host-tool.js";
export { type PairedListen, ToolHost, type ToolHostOptions, type UnixListen } from "./tool-host.js";
export { type ErrorCode, errorCodes } from "../error-codes.js";
export { type Annotations, type Json, type JsonObject } from "../frames.js";
export { type CallContext } from "../rtp.js";
export { type ArgsOf, type FromSchema, type Schema } from "../schema-types.js";
export { ToolError } from "../tool.js";
