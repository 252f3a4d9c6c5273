import { h } from "./dom.js";

/** The crab. */
export function mark(className: string): HTMLImageElement {
  return h("img", { src: "./icon.svg", alt: "", class: className, width: 40, height: 40 });
}
