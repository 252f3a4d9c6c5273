import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  about:
    "Eine Nachricht, wenn ein Aufruf wartet: Werkzeug und wer es aufruft, nie Argumente.",
  "about.waits": "Solange ein Browser benachrichtigt wird, warten Aufrufe auch ohne offene Seite.",
  "denied.call": "Der Aufruf ist abgelehnt.",
  denied: "Der Browser lässt Nachrichten dieser Seite nicht zu; seine Einstellungen tun es.",
  "home.screen":
    "Auf iPhone oder iPad legen Sie diese Seite erst auf den Home-Bildschirm und öffnen sie dort.",
  no: "Dieser Browser nimmt hier keine Nachrichten an: Es braucht https oder diesen Rechner.",
  off: "Nicht mehr benachrichtigen",
  "off.done": "Dieser Browser wird nicht mehr benachrichtigt",
  "off.of": "Den Browser von {who} seit {when} nicht mehr benachrichtigen",
  on: "Diesen Browser benachrichtigen",
  "on.done": "Dieser Browser wird von wartenden Aufrufen benachrichtigt",
  others: "Browser, die benachrichtigt werden",
  row: "{who}, seit {when}, über {service}",
  test: "Eine Probe senden",
  "test.done": "Eine Nachricht ist unterwegs",
  "this": "dieser Browser",
  title: "Wenn keine Seite offen ist",
};
