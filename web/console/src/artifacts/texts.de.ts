import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  count: "ein Artefakt | {n} Artefakte",
  delete: "Löschen",
  "delete.of": "Das Artefakt von {tool} löschen",
  "delete.sure": "Löschen?",
  "delete.what": "Wer seine Adresse hat, bekommt nichts mehr.",
  deleted: "Das Artefakt von {tool} ist gelöscht",
  "download.of": "Das Artefakt von {tool} herunterladen",
  downloaded: "Die Datei ist vollständig",
  expires: "verschwindet {when}",
  none: "Kein Artefakt ist da",
  "none.why":
    "Ein Ergebnis, das für eine Antwort zu groß ist, etwa ein Foto, bleibt hier eine Zeit lang.",
  picture: "Bild von {tool}",
  call: "Sein Aufruf",
};
