import { strings } from "@crab/web-shared/t";

import { en } from "./en";

/** The texts of the shell; a page has its own in `pages/NAME.en.ts`. */
export const t = strings(en, () => import("./de").then(({ de }) => de));

type PageKey<Key> = Key extends `page.${infer Name}` ? Name : never;
/** The pages that have a name. */
export type PageName = PageKey<keyof typeof en>;
