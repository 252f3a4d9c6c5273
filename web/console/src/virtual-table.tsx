import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { rowsAt } from "./tool-pages";
import "./virtual-table.css";

/** The height of a row in the style sheet. */
export const ROW_PX = 56;
const FIRST_WINDOW_PX = 800;

export interface Column {
  readonly name: string;
  /** Its class, on the head and for the widths of all rows. */
  readonly style?: string;
}

interface Props {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly total: number;
  /** The cells of a row, as `td`; undefined while it is not read. */
  readonly row: (index: number) => ComponentChildren | undefined;
  /** Which rows are looked at. */
  readonly onWindow?: (first: number, end: number) => void;
  /** Another list: the window goes back to its top. */
  readonly list?: unknown;
}

/** The height of rows that are not in the document. */
function Space({ rows, columns }: { readonly rows: number; readonly columns: readonly Column[] }) {
  return (
    <tr class="space" aria-hidden="true">
      {columns.map(({ style }, index) => (
        <td key={index} class={style} style={index === 0 ? { height: rows * ROW_PX } : undefined} />
      ))}
    </tr>
  );
}

/** Up and down one row by `j` and `k`, from the control of one row to that of the next. */
function step(box: HTMLElement, by: number): void {
  const controls = [...box.querySelectorAll<HTMLElement>("tbody a, tbody button")];
  const at = controls.indexOf(document.activeElement as HTMLElement);
  controls[Math.max(0, Math.min(controls.length - 1, at + by))]?.focus();
}

/**
 * A table of any length: only the rows around the window are in the document, two empty rows keep
 * the length of the bar. All rows have one height.
 */
export function VirtualTable({ label, columns, total, row, onWindow, list }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState({ top: 0, height: FIRST_WINDOW_PX });
  const { first, end } = rowsAt(at.top, at.height, ROW_PX, total);
  useEffect(() => onWindow?.(first, end), [onWindow, first, end]);
  useEffect(() => box.current?.scrollTo(0, 0), [list]);
  const moved = () => {
    if (box.current) setAt({ top: box.current.scrollTop, height: box.current.clientHeight });
  };
  const indexes = Array.from({ length: end - first }, (_, offset) => first + offset);
  return (
    <div
      class="virtual"
      ref={box}
      onScroll={moved}
      tabIndex={0}
      role="region"
      aria-label={label}
      data-rows
      onKeyDown={(event) => {
        const by = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        if (box.current) step(box.current, by);
      }}
    >
      <table aria-rowcount={total}>
        <thead>
          <tr>
            {columns.map(({ name, style }) => (
              <th key={name} scope="col" class={style}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Space rows={first} columns={columns} />
          {indexes.map((index) => (
            <tr key={index} aria-rowindex={index + 2}>
              {row(index) ?? (
                <td class="quiet" colSpan={columns.length}>
                  …
                </td>
              )}
            </tr>
          ))}
          <Space rows={total - end} columns={columns} />
        </tbody>
      </table>
    </div>
  );
}
