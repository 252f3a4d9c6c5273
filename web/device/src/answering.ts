/** What answers calls: the device, the question to the person, and what the tools do. */
export { ConsentBook, Device, storedDecisions } from "@crab/device";

export { runs } from "./tools/run/all.js";
export { Ask } from "./ui/ask.js";
