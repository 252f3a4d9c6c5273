import { base64Of } from "./base64.js";
import type { UploadTerms } from "./frames.js";
import type { Platform } from "./platform.js";
import { ToolError } from "./tool.js";

const tries = 5;
const firstPauseMs = 500; // then twice that, and so on
const longestPauseMs = 30_000; // that a gateway may ask for

/** A result for its call. */
export interface Upload {
  callId: string;
  blob: Blob;
  /** Of the call, on the platform's clock. */
  deadline: number;
  /** Aborted when nobody waits for the call any more. */
  signal: AbortSignal;
}

/**
 * Uploads a result that is too large for a message and returns the artifact's id. Failures of the
 * network, and a gateway that is busy, are repeated until the deadline: an upload needs no link,
 * only a call that still waits. Throws a ToolError `OVERSIZE`, else `INTERNAL`: the handler has
 * run, so none may say that nothing was done. Source: docs/protocols/clawseed.md, section 9, "Large
 * results".
 */
export async function uploadResult(
  upload: Upload,
  terms: UploadTerms,
  gateway: { route: (path: string) => string; token: () => string },
  platform: Pick<Platform, "fetch" | "after" | "now">,
): Promise<string> {
  const { callId, blob, signal, deadline } = upload;
  if (blob.size > terms.maxBytes)
    throw new ToolError(
      "OVERSIZE",
      `the result has ${blob.size} bytes, and ${terms.maxBytes} are allowed; ask for less`,
    );
  const digest = base64Of(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
  const url = `${gateway.route(terms.path)}?call_id=${encodeURIComponent(callId)}`;
  let why = "the gateway did not take it";
  for (let tried = 0; tried < tries && !signal.aborted; ++tried) {
    let pauseMs = firstPauseMs * 2 ** tried;
    const response = await platform
      .fetch(url, {
        method: "POST",
        body: blob,
        signal,
        headers: {
          Authorization: `Bearer ${gateway.token()}`,
          "Content-Type": blob.type || "application/octet-stream",
          "Content-Digest": `sha-256=:${digest}:`,
        },
      })
      .catch(() => undefined); // a network failure
    if (response) {
      const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
      if (response.status === 201 && typeof answer["artifact"] === "string")
        return answer["artifact"];
      const said = answer["error"];
      why = typeof said === "string" ? said : `the gateway answers ${response.status}`;
      if (answer["code"] === "OVERSIZE") throw new ToolError("OVERSIZE", why);
      if (!mayPass(response.status)) break;
      pauseMs = Math.max(pauseMs, 1_000 * (Number(response.headers.get("Retry-After")) || 0));
    }
    const tooLate = pauseMs > longestPauseMs || platform.now() + pauseMs >= deadline;
    if (tooLate || tried + 1 === tries) break;
    await new Promise<void>((done) => platform.after(pauseMs, done));
  }
  throw new ToolError("INTERNAL", `the tool ran, but its result could not be uploaded: ${why}`);
}

/** An expired token, a timeout, too many at once, a starting gateway. */
function mayPass(status: number): boolean {
  return status === 401 || status === 408 || status === 429 || status === 502 || status === 503;
}
