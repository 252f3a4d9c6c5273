// A call waits for a person while no page is open: the gateway pushes who calls what, and the click
// opens the page, where the arguments are, and where to allow or deny.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const shown = (text) => String(text ?? "").replace(HIDDEN, "\ufffd").slice(0, 200);
const german = () => (self.navigator.language ?? "").startsWith("de");

function wordsOf(said) {
  if (said.kind !== "approval")
    return german()
      ? ["crab", "Nachrichten kommen in diesem Browser an."]
      : ["crab", "Messages reach this browser."];
  const who = [shown(said.who), shown(said.agent)].filter(Boolean).join(", ");
  return german()
    ? [`Wartet auf Sie: ${shown(said.tool)}`, `Aufgerufen von ${who}`]
    : [`Waits for you: ${shown(said.tool)}`, `Called by ${who}`];
}

const saidBy = (data) => {
  try {
    return data.json();
  } catch {
    return {};
  }
};

self.addEventListener("push", (event) => {
  const said = saidBy(event.data) ?? {};
  const [title, body] = wordsOf(said);
  const tag = `${KIND}${shown(said.id || said.kind)}`;
  const requireInteraction = said.kind === "approval";
  event.waitUntil(
    self.registration.showNotification(title, { body, tag, requireInteraction, icon: "icon.svg" }),
  );
});

async function openApprovals() {
  const address = `${PAGE}?page=approvals`;
  const [open] = await self.clients.matchAll({ type: "window" });
  if (!open) return self.clients.openWindow(address);
  await open.focus();
  return open.navigate(address);
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openApprovals());
});
