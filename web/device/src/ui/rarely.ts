/** The views of a paired browser that are opened now and then. */
export { About } from "./about.js";
export { Answers } from "./answers.js";
