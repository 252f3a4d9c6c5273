import { useState } from "preact/hooks";

import { t } from "./strings/kit";
import { cut, pieces } from "./visible";

interface Props {
  readonly text: string;
  /** Characters before *more*. */
  readonly most?: number;
  /** Line breaks and tabs stay what they are. */
  readonly lines?: boolean;
}

/**
 * A text that somebody else wrote: isolated from the direction of what stands around it, unseen
 * characters named, never read as markup, cut where it would fill the page.
 */
export function SafeText({ text, most = 400, lines = false }: Props) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : cut(text, most);
  return (
    <>
      <bdi class={lines ? "safe lines" : "safe"}>
        {pieces(shown, lines).map((piece) =>
          piece.hidden ? <span class="unseen">{piece.text}</span> : piece.text,
        )}
      </bdi>
      {shown.length < text.length && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {t("more")}
        </button>
      )}
    </>
  );
}
