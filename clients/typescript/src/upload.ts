import { base64Of } from "./base64.js";
import type { UploadTerms } from "./frames.js";
import type { Platform } from "./platform.js";
import { asErrorCode, ToolError } from "./tool.js";

const tries = 5;
const firstPauseMs = 500; // then twice that, and so on

/** A result for its call. */
export interface Upload {
  callId: string;
  blob: Blob;
  /** Aborted when nobody waits for the call any more. */
  signal: AbortSignal;
}

/**
 * Uploads a result that is too large for a message and returns the artifact's id. Network failures
 * are retried: an upload needs no link, only a call that still waits. Throws a ToolError. Source:
 * docs/protocols/clawseed.md, section 9, "Large results".
 */
export async function uploadResult(
  upload: Upload,
  terms: UploadTerms,
  gateway: { route: (path: string) => string; token: () => string },
  platform: Pick<Platform, "fetch" | "after">,
): Promise<string> {
  const { callId, blob, signal } = upload;
  if (blob.size > terms.maxBytes)
    throw new ToolError(
      "OVERSIZE",
      `the result has ${blob.size} bytes, and ${terms.maxBytes} are allowed; ask for less`,
    );
  const digest = base64Of(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
  const url = `${gateway.route(terms.path)}?call_id=${encodeURIComponent(callId)}`;
  let failure = new ToolError("UNAVAILABLE", "the gateway did not take the result");
  for (let tried = 0; tried < tries && !signal.aborted; ++tried) {
    if (tried > 0)
      await new Promise<void>((done) => platform.after(firstPauseMs * 2 ** (tried - 1), done));
    try {
      const response = await platform.fetch(url, {
        method: "POST",
        body: blob,
        signal,
        headers: {
          Authorization: `Bearer ${gateway.token()}`,
          "Content-Type": blob.type || "application/octet-stream",
          "Content-Digest": `sha-256=:${digest}:`,
        },
      });
      const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
      if (response.status === 201 && typeof answer["artifact"] === "string")
        return answer["artifact"];
      failure = new ToolError(
        asErrorCode(answer["code"]),
        typeof answer["error"] === "string"
          ? answer["error"]
          : `the gateway answers ${response.status}`,
      );
      if (!mayPass(response.status)) throw failure;
    } catch (thrown) {
      if (thrown instanceof ToolError) throw thrown; // anything else is a network failure
    }
  }
  throw failure;
}

/** An expired token, a timeout, too many at once, a starting gateway. */
function mayPass(status: number): boolean {
  return status === 401 || status === 408 || status === 429 || status === 502 || status === 503;
}
