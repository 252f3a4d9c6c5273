type Child = Node | string | undefined | false;
type Handler = (event: Event) => void;
type Properties = Record<string, string | number | boolean | Handler | undefined>;

/**
 * An element with attributes (`true`: bare, `false` or undefined: absent), listeners (`onclick`)
 * and children; text is always text.
 */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  fill(element, ...children);
  return element;
}

/** Replaces what is in `element`. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(
    ...children.filter((child): child is Node | string => child !== undefined && child !== false),
  );
}
