import { strings } from "@crab/web-shared/t";

import { en } from "./approvals.en";

export const t = strings(en, () => import("./approvals.de").then(({ de }) => de));
