import { strings } from "@crab/web-shared/t";

import { en } from "./tools.en";

export const t = strings(en, () => import("./tools.de").then(({ de }) => de));
