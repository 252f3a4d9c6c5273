import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  all: "beliebig",
  approve: "{tool} freigeben",
  "approve.all": "Alle {n} freigeben",
  approved: "ein Werkzeug ist freigegeben | {n} Werkzeuge sind freigegeben",
  back: "Alle Geräte",
  battery: "{percent} % geladen",
  "battery.charging": "{percent} % geladen, lädt",
  connected: "verbunden",
  connections: "Verbindungen",
  count: "ein Gerät | {n} Geräte",
  expires: "Token endet {when}",
  foreground: "Seite im Vordergrund",
  gone: "zuletzt gesehen {when}",
  "last.never": "nie gesehen",
  metered: "Mobilfunk",
  name: "Name",
  "name.hint": "Wie es hier heißen soll",
  "new.code": "Neuer Code",
  none: "Kein Gerät ist gekoppelt",
  "none.why":
    "Ein Telefon, ein Rechner oder ein Programm wird durch Koppeln ein Gerät; dann stehen " +
    "seine Werkzeuge hier.",
  "no.hit": "Kein Gerät passt",
  "no.hit.drop": "Lassen Sie die Suche oder den Zustand weg.",
  pair: "Koppeln",
  "pair.again": "Noch einmal koppeln",
  "pair.begin": "Code erzeugen",
  "pair.code": "Code",
  "pair.done": "{name} ist gekoppelt",
  "pair.machine": "Rechner",
  "pair.machine.how":
    "Führen Sie dies auf dem Rechner aus. Er koppelt sich und läuft als Gerät weiter:",
  "pair.modes": "Was gekoppelt wird",
  "pair.now": "{name} bietet jetzt ein Werkzeug an. | {name} bietet jetzt {n} Werkzeuge an.",
  "pair.phone": "Telefon",
  "pair.phone.how":
    "Richten Sie die Kamera des Telefons darauf, oder öffnen Sie dort die Adresse und tippen " +
    "Sie den Code.",
  "pair.phone.address": "Adresse der Geräteseite",
  "pair.script": "Token für ein Skript",
  "pair.script.how":
    "Für ein Skript oder eine App, die Werkzeuge aufruft. Es wird einmal gezeigt, hier und jetzt.",
  "pair.script.kept":
    "Kopieren Sie es jetzt: Es wird nicht wieder gezeigt. Geht es verloren, widerrufen Sie es " +
    "hier.",
  "pair.share": "Teilen",
  "pair.title": "Ein Gerät koppeln",
  "pair.token": "Token erzeugen",
  "pair.tools": "Seine Werkzeuge",
  "pair.try": "Eines ausprobieren",
  "pair.waiting": "Wartet auf das Gerät. Es geht von selbst weiter.",
  "qr.loopback":
    "Kein Code zum Scannen: Das Gateway ist nur auf dieser Maschine erreichbar. Geben Sie ihm " +
    "einen Namen und TLS, und öffnen Sie dies wieder:",
  "qr.name": "QR-Code der Geräteseite",
  "qr.none":
    "Kein Code zum Scannen: Das Gateway zeigt keine Geräteseite. Siehe listen.public in seiner " +
    "Konfiguration.",
  "qr.plain":
    "Kein Code zum Scannen: Die Adresse ist einfaches http; dort gibt ein Browser weder Kamera " +
    "noch Schlüssel. Richten Sie TLS ein:",
  reachable: "{name}, TLS",
  rejected: "Zurückgewiesen",
  "rejected.none": "Kein Werkzeug wurde zurückgewiesen.",
  rename: "Umbenennen",
  "rename.done": "Es heißt jetzt {name}",
  revoke: "Widerrufen",
  "revoke.done": "{name} ist widerrufen",
  "revoke.sure": "{name} widerrufen?",
  "revoke.token": "Token {id} widerrufen",
  "revoke.what":
    "Sein Token oder Schlüssel endet, ebenso seine Verbindung; Aufrufe, die dort laufen, " +
    "enden. Es muss neu gekoppelt werden. | Alle {n} Token und Schlüssel enden, ebenso seine " +
    "Verbindungen; Aufrufe, die dort laufen, enden. Es muss neu gekoppelt werden.",
  "revoke.nothing": "Es hat kein Token und keinen Schlüssel, der noch gilt.",
  revoked: "widerrufen",
  save: "Speichern",
  search: "Geräte suchen",
  since: "seit {when}",
  state: "Zustand",
  "state.offline": "nicht verbunden",
  "state.online": "verbunden",
  "state.waiting": "Werkzeuge warten",
  "tab.calls": "Aufrufe",
  "tab.connection": "Verbindung",
  "tab.tokens": "Token und Schlüssel",
  "tab.tools": "Werkzeuge",
  tabs: "Teile des Geräts",
  tokens: "Token für Skripte",
  "tokens.none": "Kein Skript hat ein Token.",
  tools: "ein Werkzeug | {n} Werkzeuge",
  "tools.none": "Es bietet gerade kein Werkzeug an.",
  "tools.off": "aus",
  "tools.offered": "Angeboten",
  waiting: "Wartet auf Sie",
  "waiting.count": "ein Werkzeug wartet | {n} Werkzeuge warten",
  "waiting.changed": "geändert, seit es freigegeben wurde",
  "waiting.new": "neu, seit das Gerät freigegeben wurde",
  "waiting.review": "Ansehen",
  wifi: "Netz ohne Mengengrenze",
};
