// A call waits for a person while no page is open: the gateway pushes who calls what, and the click
// opens the page, where the arguments are, and where to allow or deny. A button of the notice
// denies; to allow takes the page.
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

const denial = () => ({ action: "deny", title: german() ? "Ablehnen" : "Deny" });

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
  const asks = said.kind === "approval" && typeof said.id === "string";
  event.waitUntil(
    self.registration.showNotification(title, {
      body,
      tag,
      requireInteraction: asks,
      icon: "icon.svg",
      ...(asks && { actions: [denial()], data: { id: said.id } }),
    }),
  );
});

const APPROVALS = `${PAGE}?page=approvals`;

async function openApprovals() {
  const [open] = await self.clients.matchAll({ type: "window" });
  if (!open) return self.clients.openWindow(APPROVALS);
  await open.focus();
  return open.navigate(APPROVALS);
}

/** Half of the session is the page's alone, so a page has to do it: an open one, or a new one. */
async function deny({ id }) {
  const [open] = await self.clients.matchAll({ type: "window" });
  const page = open ?? (await self.clients.openWindow(APPROVALS));
  page?.postMessage({ kind: "deny", id });
}

self.addEventListener("notificationclick", (event) => {
  const { action, notification } = event;
  notification.close();
  event.waitUntil(action === "deny" ? deny(notification.data ?? {}) : openApprovals());
});
