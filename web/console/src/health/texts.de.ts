import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  all: "Alle Prüfungen gelingen.",
  certificates: "Zertifikate",
  checks: "Prüfungen",
  "fact.bytes": "Größe",
  "fact.not_after": "Endet",
  "fact.problem": "Problem",
  "fact.text": "Sagt",
  "fact.tools": "Werkzeuge",
  hosts: "Werkzeugdienste",
  models: "Modelle",
  resting: "ruht bis {when}",
  some: "eine Prüfung braucht Sie | {n} Prüfungen brauchen Sie",
  "state.fail": "gescheitert",
  "state.ok": "gut",
  "state.warn": "Achtung",
  stores: "Speicher",
};
