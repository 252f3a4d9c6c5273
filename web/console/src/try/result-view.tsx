import { useEffect, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { CopyButton } from "@crab/web-shared/copy-button";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { duration } from "@crab/web-shared/words";

import type { ApiError } from "../api";
import { Link } from "../link";
import { save } from "../save";
import { api } from "../store";
import type { CallState } from "./call";
import { JsonTree } from "./json-tree";
import { type Artifact, artifactOf, isPicture, type Rows, rowsOf, textResult } from "./result";
import type { Json } from "./schema";
import { t } from "./texts";

const MOST_ROWS = 200;

/** The bytes of an artifact: never a document, a picture only if its type is one's. */
function ArtifactView({ artifact }: { readonly artifact: Artifact }) {
  const [picture, setPicture] = useState("");
  const [error, setError] = useState<ApiError>();
  useEffect(() => () => URL.revokeObjectURL(picture), [picture]);
  const read = async () => {
    const answer = await api.open(artifact.href);
    return new Blob([await answer.arrayBuffer()], {
      type: isPicture(artifact) ? artifact.type : "application/octet-stream",
    });
  };
  const show = () => read().then((blob) => setPicture(URL.createObjectURL(blob)), setError);
  const name = artifact.href.slice(artifact.href.lastIndexOf("/") + 1);
  const keep = () => read().then((blob) => save(blob, name), setError);
  return (
    <div class="stack">
      {picture && <img class="result-picture" src={picture} alt={t("result.picture")} />}
      {error && <ErrorCard error={error} />}
      <div class="row">
        {isPicture(artifact) && !picture && (
          <Button small onPress={() => void show()}>
            {t("result.show")}
          </Button>
        )}
        <Button small icon="download" onPress={() => void keep()}>
          {t("result.artifact", { type: artifact.type, bytes: artifact.bytes })}
        </Button>
      </div>
    </div>
  );
}

function TableView({ columns, rows }: Rows) {
  return (
    <div class="result-table" tabIndex={0} role="region" aria-label={t("result")}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                <SafeText text={column} most={60} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, index) => (
            <tr key={index}>
              {columns.map((column) => (
                <td key={column}>
                  <SafeText
                    text={row[column] === undefined ? "" : String(row[column])}
                    most={200}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A result in the form that suits it, and the whole of it as JSON to copy. */
export function ResultView({ result }: { readonly result: Json }) {
  const artifact = artifactOf(result);
  const rows = rowsOf(result);
  const text = textResult(result);
  return (
    <>
      {artifact && <ArtifactView artifact={artifact} />}
      {rows && <TableView {...rows} />}
      {text !== undefined && (
        <div class="result-text">
          <SafeText text={text} most={8_192} lines />
        </div>
      )}
      {!rows && text === undefined && <JsonTree value={result} />}
      <div class="row">
        <CopyButton text={JSON.stringify(result, null, 2)} />
      </div>
    </>
  );
}

/** How far a call is, or what it ended with. */
export function CallView({ call }: { readonly call: CallState }) {
  if (call.state === "none") return null;
  if (call.state === "running") {
    const { progress, frames } = call;
    return (
      <div class="stack">
        {progress && (
          <div class="row">
            <progress
              aria-label={t("progress")}
              value={progress.done ?? 0}
              max={progress.total ?? Math.max(1, progress.done ?? 1)}
            />
            <Spoken as="span">
              <SafeText text={progress.message} />
            </Spoken>
          </div>
        )}
        {frames.length > 0 && (
          <>
            <Spoken class="quiet">{t("result.frames", { n: frames.length })}</Spoken>
            <JsonTree value={frames[frames.length - 1] ?? null} />
          </>
        )}
      </div>
    );
  }
  const why = (
    <Link page="calls" to={{ call: call.callId }}>
      {t("result.why")}
    </Link>
  );
  if (call.state === "failed")
    return (
      <ErrorCard error={call.error}>
        {["OUTCOME_UNKNOWN", "BROKEN_OFF"].includes(call.error.code) && (
          <p>{t("result.unknown")}</p>
        )}
        <p>{why}</p>
      </ErrorCard>
    );
  return (
    <div class="stack">
      <Spoken class="row">
        <Pill tone="good">{t("result.ok", { time: duration(call.ms * 1_000) })}</Pill> {why}
      </Spoken>
      <ResultView result={call.result} />
    </div>
  );
}
