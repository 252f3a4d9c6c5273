import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  add: "Passkey hinzufügen",
  added: "Sie können sich jetzt mit {name} anmelden",
  "added.at": "hinzugefügt {when}",
  about:
    "Mit Finger, Gesicht, PIN oder Sicherheitsschlüssel anmelden statt mit einem Code oder Token.",
  cancelled: "Es wurde kein Passkey angelegt.",
  known: "Dieses Gerät hat schon einen Passkey von Ihnen.",
  name: "Name des neuen Passkeys",
  "name.default": "Dieses Gerät",
  "need.key":
    "Erst mit dem Schlüssel dieses Browsers oder einem Passkey anmelden; ein Token genügt nicht.",
  passkeys: "Passkeys",
  none: "Sie haben noch keinen Passkey.",
  remove: "Entfernen",
  "remove.of": "Den Passkey {name} entfernen",
  "remove.sure": "Den Passkey {name} entfernen?",
  "remove.what":
    "Sitzungen, die er geöffnet hat, enden. Löschen Sie ihn auch auf seinem Gerät.",
  removed: "{name} meldet niemanden mehr an",
  "used.at": "benutzt {when}",
  "used.never": "nie benutzt",
};
