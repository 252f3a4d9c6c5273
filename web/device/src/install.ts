/**
 * The browser's offer to install the page; not in the type library, since Chromium alone makes it.
 */
interface InstallOffer extends Event {
  prompt(): Promise<{ outcome: "accepted" | "dismissed" }>;
}

let offer: InstallOffer | undefined;
const listeners = new Set<() => void>();

addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault(); // asked when the person wants it, from the page
  change(event as InstallOffer);
});
addEventListener("appinstalled", () => change(undefined));

function change(to: InstallOffer | undefined): void {
  offer = to;
  for (const listener of listeners) listener();
}

/**
 * Whether the browser can install the page now; `changed` is called when that changes, until
 * `signal` is aborted.
 */
export function watchInstall(changed: (can: boolean) => void, signal: AbortSignal): void {
  const tell = () => changed(offer !== undefined);
  listeners.add(tell);
  signal.addEventListener("abort", () => listeners.delete(tell), { once: true });
  tell();
}

/** Shows the browser's own question; to be called from a click. An offer can be used once. */
export async function install(): Promise<void> {
  const current = offer;
  change(undefined);
  await current?.prompt();
}
