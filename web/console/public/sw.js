// The page without its gateway: its own files, and nothing that the gateway answers.
const CACHE = "crab-console-1";
const ASSET = /\/console\/assets\/[^/]+-[\w-]{8}\.(?:js|css|svg)$/;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => {
  const clean = async () => {
    for (const name of await caches.keys())
      if (name.startsWith("crab-console-") && name !== CACHE) await caches.delete(name);
    await self.clients.claim();
  };
  event.waitUntil(clean());
});

/** Another page than the one that is kept brings other files: those of the old one go. */
async function keepPage(cache, key, answer) {
  const [kept, text] = await Promise.all([cache.match(key), answer.clone().text()]);
  const changed = kept !== undefined && (await kept.text()) !== text;
  if (changed)
    for (const request of await cache.keys())
      if (ASSET.test(new URL(request.url).pathname)) await cache.delete(request);
  await cache.put(key, answer);
}

/** The gateway's page while there is one, so that a new version is there with the next reload. */
async function page(request) {
  const cache = await caches.open(CACHE);
  const key = new URL("./", self.registration.scope).href;
  try {
    const answer = await fetch(request);
    if (answer.ok && !answer.redirected) await keepPage(cache, key, answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match(key);
    if (kept) return kept;
    throw error;
  }
}

/** A file whose name has its digest never changes. */
async function asset(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) return;
  const scope = new URL(self.registration.scope).pathname;
  if (request.mode === "navigate" && url.pathname === scope) event.respondWith(page(request));
  else if (ASSET.test(url.pathname)) event.respondWith(asset(request));
});
