import { Component } from "preact";
import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { CopyButton } from "@crab/web-shared/copy-button";
import { Dialog } from "@crab/web-shared/dialog";
import { SafeText } from "@crab/web-shared/safe-text";

import { type Block, type Inline, markdown, namesAnotherHost, pieces, type Row } from "./markdown";
import { t } from "./texts";

const plain = (parts: readonly Inline[]): string =>
  parts.map((part) => ("parts" in part ? plain(part.parts) : part.text)).join("");

/** A link whose text says another host: the whole address is shown before it is followed. */
function AskedLink({ href, parts }: { readonly href: string; readonly parts: readonly Inline[] }) {
  const [asked, ask] = useState(false);
  return (
    <>
      <button type="button" class="more" onClick={() => ask(true)}>
        <Parts parts={parts} />
      </button>
      {asked && (
        <Dialog title={t("link.differs")} onClose={() => ask(false)}>
          <div class="stack">
            <p>{t("link.leads")}</p>
            <p>
              <SafeText text={href} most={Infinity} />
            </p>
            <div class="row">
              <a href={href} target="_blank" rel="noopener noreferrer">
                {t("link.open")}
              </a>
              <Button onPress={() => ask(false)}>{t("link.stay")}</Button>
            </div>
          </div>
        </Dialog>
      )}
    </>
  );
}

function LinkPart({ href, parts }: { readonly href: string; readonly parts: readonly Inline[] }) {
  const host = <span class="quiet"> ({new URL(href).host})</span>;
  if (namesAnotherHost(plain(parts), href))
    return (
      <>
        <AskedLink href={href} parts={parts} />
        {host}
      </>
    );
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer">
        <Parts parts={parts} />
      </a>
      {host}
    </>
  );
}

function Parts({ parts }: { readonly parts: readonly Inline[] }) {
  return (
    <>
      {parts.map((part, index) => {
        switch (part.kind) {
          case "text":
            return <SafeText key={index} text={part.text} most={Infinity} lines />;
          case "code":
            return (
              <code key={index}>
                <SafeText text={part.text} most={Infinity} />
              </code>
            );
          case "strong":
            return (
              <strong key={index}>
                <Parts parts={part.parts} />
              </strong>
            );
          case "em":
            return (
              <em key={index}>
                <Parts parts={part.parts} />
              </em>
            );
          case "link":
            return <LinkPart key={index} href={part.href} parts={part.parts} />;
        }
      })}
    </>
  );
}

function Cells({ row, head = false }: { readonly row: Row; readonly head?: boolean }) {
  return (
    <tr>
      {row.map((cell, index) =>
        head ? (
          <th key={index} scope="col">
            <Parts parts={cell} />
          </th>
        ) : (
          <td key={index}>
            <Parts parts={cell} />
          </td>
        ),
      )}
    </tr>
  );
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Parts parts={block.parts} />
        </p>
      );
    case "heading":
      return (
        <p class="md-heading">
          <Parts parts={block.parts} />
        </p>
      );
    case "code":
      return (
        <div class="md-code">
          <pre tabIndex={0} aria-label={block.language || t("code")}>
            <SafeText text={block.text} most={Infinity} lines />
          </pre>
          <CopyButton text={block.text} label={t("code.copy")} />
        </div>
      );
    case "list": {
      const items = block.items.map(({ depth, parts }, index) => (
        <li key={index} class={`md-depth-${Math.min(3, depth)}`}>
          <Parts parts={parts} />
        </li>
      ));
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="md-table" tabIndex={0} role="group" aria-label={t("table")}>
          <table>
            <thead>
              <Cells row={block.head} head />
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                <Cells key={index} row={row} />
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

/** Blocks of one piece of a text; drawn again only when the piece has changed. */
class Piece extends Component<{ readonly text: string }> {
  override shouldComponentUpdate(next: { readonly text: string }): boolean {
    return next.text !== this.props.text;
  }

  override render() {
    return (
      <>
        {markdown(this.props.text).map((block, index) => (
          <BlockView key={index} block={block} />
        ))}
      </>
    );
  }
}

/** A text that a model wrote, in the subset of Markdown that `markdown.ts` reads. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <div class="md">
      {pieces(text).map((piece, index) => (
        <Piece key={index} text={piece} />
      ))}
    </div>
  );
}
