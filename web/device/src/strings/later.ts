import { strings } from "@crab/web-shared/t";

import { en } from "./later.en";

/** The texts of the parts that are read after the page is shown. */
export const later = strings(en, () => import("./later.de").then(({ de }) => de));
