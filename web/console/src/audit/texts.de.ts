import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  all: "Das ist das ganze Protokoll.",
  changed: "Was getan wurde",
  export: "Ausgeben",
  "export.csv": "CSV, für eine Tabelle",
  "export.done": "Die Ausgabe ist vollständig",
  "export.jsonl": "JSON, je eine Zeile",
  "export.of": "Ausgeben, was der Filter findet",
  filter: "Das Protokoll filtern",
  "found": "ein Eintrag | {n} Einträge",
  "histogram": "{all} Einträge nach der Zeit, {bad} davon abgelehnt oder gescheitert",
  "intact": "Die Kette ist unversehrt: {records} in {batches} Blöcken.",
  "broken": "Die Kette ist gebrochen",
  head: "Letzte Prüfsumme",
  "head.why": "Eine Kopie anderswo beweist später, ob das Ende abgeschnitten wurde.",
  more: "Weiter zurück suchen",
  most: "Die Seite behält {n} Einträge. Filtern Sie enger, oder geben Sie aus.",
  none: "Kein Eintrag passt",
  "none.drop": "Lassen Sie einen Teil des Filters weg, oder suchen Sie weiter zurück.",
  record: "Eintrag",
  searching: "sucht",
  scanned: "durchsucht bis {when}",
  verify: "Prüfen",
  "verify.now": "Jetzt prüfen",
  "verify.what":
    "Liest das ganze Protokoll und prüft, ob ein Eintrag geändert oder entfernt wurde. Es kann " +
    "dauern.",
  verifying: "Prüft; es kann dauern",
  when: "Wann",
  outcome: "Ausgang",
};
