import { signal } from "@preact/signals";

/**
 * The browser's offer to install the page; not in the type library, since Chromium alone makes it.
 */
interface InstallOffer extends Event {
  prompt(): Promise<{ outcome: "accepted" | "dismissed" }>;
}

const offer = signal<InstallOffer | undefined>(undefined);

/** Keeps the browser's offer, from the page's beginning on. */
export function keepInstallOffer(): void {
  addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault(); // asked when the person wants it, from the page
    offer.value = event as InstallOffer;
  });
  addEventListener("appinstalled", () => (offer.value = undefined));
}

/** Whether the browser can install the page now. */
export const canInstall = (): boolean => offer.value !== undefined;

/** Whether it is an iPhone or iPad, where the person alone can do it, by the share sheet. */
export const installsByShare = (
  userAgent = navigator.userAgent,
  installed = matchMedia("(display-mode: standalone)").matches,
): boolean => !installed && /iPhone|iPad/.test(userAgent);

/** Shows the browser's own question; to be called from a click. An offer can be used once. */
export async function install(): Promise<void> {
  const current = offer.value;
  offer.value = undefined;
  await current?.prompt();
}
