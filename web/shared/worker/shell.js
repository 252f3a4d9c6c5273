// A page without its gateway: its own files, and nothing that the gateway answers. The page and the
// files that it names are kept together, so that versions are never mixed.
const SCOPE = new URL(self.registration.scope);
const KIND = `crab-${SCOPE.pathname.split("/").at(-2)}-`; // crab-console-, crab-device-
const CACHE = `${KIND}2`;
const PAGE = new URL("./", SCOPE).href;
const NAMED = /(?:src|href)="\.\/(assets\/[^"]+)"/g;

const isAsset = ({ pathname }) =>
  pathname.startsWith(`${SCOPE.pathname}assets/`) && /-[\w-]{8}\.(?:js|css|svg)$/.test(pathname);

/** Keeps a page that is not the one that is kept: first its files, then itself; others' go. */
async function keepPage(answer) {
  const cache = await caches.open(CACHE);
  const [kept, text] = await Promise.all([cache.match(PAGE), answer.clone().text()]);
  if (kept !== undefined && (await kept.text()) === text) return;
  const files = [...text.matchAll(NAMED)].map(([, file]) => new URL(file, SCOPE).href);
  for (const file of files) {
    if (await cache.match(file)) continue;
    const found = await fetch(file);
    if (!found.ok) return; // half a version is none
    await cache.put(file, found);
  }
  await cache.put(PAGE, answer);
  for (const request of await cache.keys())
    if (isAsset(new URL(request.url)) && !files.includes(request.url)) await cache.delete(request);
}

const keepQuietly = (answer) => keepPage(answer).catch(() => undefined); // full, or offline by now

self.addEventListener("install", (event) => {
  self.skipWaiting();
  const keep = async () => {
    const answer = await fetch(PAGE);
    if (answer.ok && !answer.redirected) await keepPage(answer);
  };
  event.waitUntil(keep().catch(() => undefined));
});

self.addEventListener("activate", (event) => {
  const clean = async () => {
    for (const name of await caches.keys())
      if (name.startsWith(KIND) && name !== CACHE) await caches.delete(name);
    await self.clients.claim();
  };
  event.waitUntil(clean());
});

/** The gateway's page while there is one, so that a new version is there with the next reload. */
async function page(event) {
  try {
    const answer = await fetch(event.request);
    if (answer.ok && !answer.redirected) event.waitUntil(keepQuietly(answer.clone()));
    return answer;
  } catch (error) {
    const kept = await (await caches.open(CACHE)).match(PAGE);
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
  if (request.mode === "navigate" && url.pathname === SCOPE.pathname)
    event.respondWith(page(event));
  else if (isAsset(url)) event.respondWith(asset(request));
});
