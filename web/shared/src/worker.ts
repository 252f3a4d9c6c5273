/** The part of Trusted Types that this page needs; TypeScript's own types know none. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: () => string },
  ): { createScriptURL: (unused: string) => URL };
}

const WORKER = "./sw.js";

/**
 * Registers the service worker, which keeps the page's own files. The page's one policy of Trusted
 * Types answers a constant: no text can become the address of a script.
 */
export async function registerWorker(): Promise<void> {
  if (!isSecureContext || !("serviceWorker" in navigator)) return;
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const policy = trustedTypes?.createPolicy("crab-worker", { createScriptURL: () => WORKER });
  await navigator.serviceWorker.register(policy ? policy.createScriptURL("") : WORKER);
}
