import { strings } from "@crab/web-shared/t";

import { en } from "./en";

export const t = strings(en, () => import("./de").then(({ de }) => de));
