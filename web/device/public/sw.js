// The page offline: the last loaded version is shown until the gateway is back. Calls, pairing and
// the WebSocket are not handled here.
const cacheName = "crab-device-1";
const scope = new URL(self.registration.scope).pathname;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (
    event.request.method !== "GET" ||
    url.origin !== self.location.origin ||
    !url.pathname.startsWith(scope)
  )
    return;
  event.respondWith(
    url.pathname.startsWith(`${scope}assets/`)
      ? keptFirst(event.request)
      : networkFirst(event.request),
  );
});

// A click on a question's notification brings the page to the front.
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(
    self.clients
      .matchAll({ type: "window" })
      .then((pages) => (pages[0] ? pages[0].focus() : self.clients.openWindow(scope))),
  );
});

/** Files whose name changes with their content. */
async function keptFirst(request) {
  const cache = await caches.open(cacheName);
  return (await cache.match(request)) ?? keep(cache, request, await fetch(request));
}

async function networkFirst(request) {
  const cache = await caches.open(cacheName);
  try {
    return await keep(cache, request, await fetch(request));
  } catch (failure) {
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    throw failure;
  }
}

async function keep(cache, request, response) {
  if (response.ok) await cache.put(request, response.clone());
  return response;
}
