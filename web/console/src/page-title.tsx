import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Questions that wait for somebody; in front of the document's title. */
export const waiting = signal(0);

/** The first page keeps the focus where the browser puts it. */
let first = true;

interface Props {
  readonly name: string;
  /** Buttons and states at the end of the line. */
  readonly children?: ComponentChildren;
}

/** The one h1 of a page: names the document, and has the focus once the page has changed. */
export function PageTitle({ name, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!first) heading.current?.focus();
    first = false;
  }, []);
  const count = waiting.value;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${name} - crab@${location.hostname}`;
  }, [name, count]);
  return (
    <div class="page-title">
      <h1 ref={heading} tabIndex={-1}>
        {name}
      </h1>
      {children}
    </div>
  );
}
