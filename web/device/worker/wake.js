// A call waits for this device while it sleeps. An open page hears of it and connects at once; else
// the notice's click, which notices.js handles, opens one. The message says nothing of the call.
const waits = () =>
  (self.navigator.language ?? "").startsWith("de")
    ? ["Ein Aufruf wartet auf dieses Gerät", "Tippen weckt es."]
    : ["A call waits for this device", "A tap wakes it."];

async function wake() {
  for (const page of await pages()) page.postMessage({ kind: "wake" });
  const [title, body] = waits();
  await self.registration.showNotification(title, { body, tag: `${KIND}wake`, icon: "icon.svg" });
}

self.addEventListener("push", (event) => event.waitUntil(wake()));
