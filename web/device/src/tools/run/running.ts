import { type ToolCall, ToolError } from "@crab/device";

/** A browser's exception as an error for the agent. */
export function toolError(thrown: unknown, what: string): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const name = thrown instanceof Error || thrown instanceof DOMException ? thrown.name : "";
  switch (name) {
    case "NotAllowedError":
    case "SecurityError":
      return new ToolError(
        "FORBIDDEN",
        `the browser does not let the page use ${what}; the person has to allow it in the ` +
          "browser's settings",
      );
    case "NotFoundError":
    case "NotReadableError":
    case "OverconstrainedError":
      return new ToolError("UNAVAILABLE", `this device has no ${what} to use right now`);
    case "AbortError":
      return new ToolError("CANCELLED", `the person closed it`);
    default:
      return new ToolError(
        "TOOL_FAILED",
        `${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      );
  }
}

/** Waits `ms`, or until the call is over. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        done();
      },
      { once: true },
    );
  });
}

/** Whether bytes, as base64, are few enough for the message that answers `call`. */
export function fitsInline(call: ToolCall, bytes: number): boolean {
  return (
    call.uploads === undefined ||
    Math.ceil(bytes / 3) * 4 + roomForFacts <= call.uploads.inlineBytes
  );
}

const roomForFacts = 1 << 10; // the rest of a result beside its bytes

/** `214 KB`, `3.1 MB`. */
export function sizeWords(bytes: number): string {
  return bytes < 1_000_000
    ? `${Math.max(1, Math.round(bytes / 1000))} KB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
