import { strings } from "../t";
import { en } from "./en";

/** The texts of the kit itself. */
export const t = strings(en, () => import("./de").then(({ de }) => de));
