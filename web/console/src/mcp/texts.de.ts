import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  approve: "{name} freigeben",
  "approve.all": "Alle {n} freigeben",
  approved: "eine Beschreibung ist freigegeben | {n} Beschreibungen sind freigegeben",
  argv: "Programm",
  changes: "Wartet auf Ihre Freigabe",
  "changes.none": "Nichts wartet auf eine Freigabe.",
  "configured": "in der Konfiguration",
  added: "hinzugefügt",
  held: "eines wartet | {n} warten",
  "left.out": "Weggelassen",
  none: "Kein MCP-Server ist verbunden",
  "none.why":
    "crab mcp add NAME fügt einen hinzu; seine Werkzeuge werden wie alle anderen angeboten.",
  off:
    "ein Ergebnis passte nicht zu seinem Schema, zuletzt von {tool} | {n} Ergebnisse passten " +
    "nicht zu ihren Schemata, zuletzt von {tool}",
  origin: "Von",
  parts: "{tools} Werkzeuge, {prompts} Vorlagen, {resources} Quellen",
  server: "Server",
  "state.disabled": "abgeschaltet",
  "state.failing": "gescheitert",
  "state.ready": "bereit",
  "state.starting": "startet",
  "state.stopped": "gestoppt",
  stderr: "Was er zuletzt schrieb",
  url: "Adresse",
  version: "Protokoll",
  "why.changed": "geändert",
  "why.looks alike": "sieht aus wie ein anderes",
  "why.new": "neu",
  "why.too many": "mehr, als angesehen werden",
  "why.unreadable": "unlesbar",
};
