import { strings } from "@crab/web-shared/t";

import { en } from "./texts.en";

export const t = strings(en, () => import("./texts.de").then(({ de }) => de));
