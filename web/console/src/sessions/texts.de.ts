import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  delete: "Löschen",
  "delete.of": "{name} löschen",
  "delete.sure": "{name} löschen?",
  "delete.what":
    "Was gesagt wurde, geht, auch Bilder, und ein laufender Zug endet. Seine Aufrufe bleiben " +
    "im Protokoll, was als Ereignis gemeldet wurde, bleibt dort.",
  deleted: "{name} ist gelöscht",
  messages: "eine Nachricht | {n} Nachrichten",
  name: "Name",
  new: "Neuer Chat",
  none: "Noch nichts wurde gesagt",
  "none.why": "Ein Chat, oder ein Zug, den ein Ereignis begann, ist ein Gespräch und steht hier.",
  "no.hit": "Kein Gespräch passt",
  "no.hit.drop": "Lassen Sie die Suche weg.",
  rename: "Umbenennen",
  "rename.of": "{name} umbenennen",
  renamed: "Es heißt jetzt {name}",
  save: "Speichern",
  search: "Gespräche suchen",
};
