import type { JsonObject } from "./frames.js";
import type { ArgsOf, Schema } from "./schema-types.js";
import { type Tool, type ToolCall, toElement, type ToolResult } from "./tool.js";

/** A running call whose arguments have the type of their schema. */
export type TypedCall<S> = Omit<ToolCall, "args"> & { readonly args: ArgsOf<S> };

/** {@link Tool} with typed arguments. */
export type TypedTool<S extends Schema> = Omit<Tool, "parameters" | "handler"> & {
  /** JSON Schema of the arguments; the gateway checks arguments against it. */
  parameters: S;
  handler: (call: TypedCall<S>) => ToolResult | Promise<ToolResult>;
};

/**
 * A tool whose handler gets arguments of the type that `parameters` describes:
 *
 *     device.tool(defineTool({
 *       name: "read_thermometer",
 *       description: "Room temperature in Celsius",
 *       parameters: {
 *         type: "object",
 *         properties: { room: { enum: ["kitchen", "cellar"] } },
 *         required: ["room"],
 *       },
 *       handler: ({ args }) => ({ celsius: read(args.room) }), // "kitchen" | "cellar"
 *     }));
 *
 * The gateway has checked the arguments when a handler sees them. Throws a TypeError for what no
 * gateway would accept.
 */
export function defineTool<const S extends Schema>(tool: TypedTool<S>): Tool {
  const plain: Tool = {
    ...tool,
    parameters: tool.parameters as unknown as JsonObject,
    handler: tool.handler as unknown as Tool["handler"],
  };
  toElement(plain);
  return plain;
}
