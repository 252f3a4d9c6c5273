// A question that waits while nobody looks at the device page is a notice: its click brings the
// page to the front, its button refuses. To allow takes the page.
const pages = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

async function show() {
  const [open] = await pages();
  return open ? open.focus() : self.clients.openWindow(PAGE);
}

async function refuse({ call }) {
  for (const page of await pages()) page.postMessage({ kind: "refuse", call });
}

self.addEventListener("notificationclick", (event) => {
  const { action, notification } = event;
  notification.close();
  event.waitUntil(action === "refuse" ? refuse(notification.data ?? {}) : show());
});
