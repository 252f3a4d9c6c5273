import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  begun: "Begonnen",
  chat: "Mit ihm reden",
  ended: "Beendet",
  event: "Ereignis",
  events: "Beginnt bei",
  "events.none": "keinem Ereignis",
  models: "Modelle",
  none: "Kein Agent ist eingerichtet",
  "none.why":
    "agents: in der Konfiguration macht einen; dann kann man mit ihm reden, und Ereignisse " +
    "starten ihn.",
  "offer.searched": "Er sucht in seinen Werkzeugen: Es sind zu viele, um sie auf einmal zu nennen.",
  "offer.sum": "{n} von {all} Werkzeugen nennt er dem Modell, {tokens} Token von {most}",
  offered: "genannt",
  "not.offered": "weggelassen",
  running: "läuft",
  said: "Was gesagt wurde",
  session: "Sein Gespräch",
  tokens: "{n} Token",
  tools: "Werkzeuge und was sie kosten",
  turn: "Zug",
  turns: "Züge, die Ereignisse begannen",
  "turns.none": "Kein Ereignis hat einen Zug begonnen.",
};
