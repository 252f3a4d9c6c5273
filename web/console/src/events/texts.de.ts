import type { en } from "./texts.en";

export const de: Readonly<Record<keyof typeof en, string>> = {
  cursor: "Ab",
  "cursor.earliest": "dem ältesten, das es noch gibt",
  "cursor.now": "jetzt",
  go: "Weiter",
  gone: "ein älteres Ereignis steht nicht mehr hier | {n} ältere Ereignisse stehen nicht mehr hier",
  "gone.410": "Die Ereignisse nach dieser Marke gibt es nicht mehr. Beginnen Sie beim ältesten.",
  none: "Noch kein Ereignis",
  "none.why":
    "Ereignisse kommen von Cron, Agenten, Aufrufen und Partnern. Sie stehen hier, wie sie kommen.",
  pause: "Anhalten",
  paused: "angehalten, {n} warten",
  "state.connecting": "verbindet",
  "state.live": "live",
  "state.lost": "nicht verbunden, neuer Versuch",
  "state.refused": "abgelehnt",
  types: "Arten",
  "types.hint": "Eine Liste mit Kommas, etwa cron.*,agent.*",
};
