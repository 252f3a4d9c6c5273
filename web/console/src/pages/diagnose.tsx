import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Dialog } from "@crab/web-shared/dialog";
import { ErrorCard } from "@crab/web-shared/error-card";
import { TextField } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { toast } from "@crab/web-shared/toast";

import type { ApiError } from "../api";
import { type Fix, PAGES, param, placeOf } from "../fix";
import { Link } from "../link";
import { api, mayWrite } from "../store";
import { t } from "./tools.texts";

interface DiagnosisCheck {
  readonly id: string;
  readonly ok: boolean;
  readonly text: string;
  readonly fix?: Fix;
}

interface Diagnosis {
  readonly answer: string;
  readonly checks: readonly DiagnosisCheck[];
}

/** What a fix is for a person: a press where the gateway can do it, else the page that helps. */
function FixButton({ fix, onDone }: { readonly fix: Fix; readonly onDone: () => void }) {
  const [error, setError] = useState<ApiError>();
  const [device, tool] = [param(fix, "device"), param(fix, "tool")];
  if (fix.kind === "approve") {
    const approve = () =>
      api.post("/v1/admin/devices/approve", { device, tools: [tool] }).then(() => {
        toast({ text: t("why.approved", { tool }) });
        onDone();
      }, setError);
    return (
      <>
        <Button small off={!mayWrite.value} onPress={() => void approve()}>
          {t("why.approve", { tool })}
        </Button>
        {error && <ErrorCard error={error} />}
      </>
    );
  }
  const text = param(fix, "command") || (fix.kind === "name" ? tool : param(fix, "source"));
  const page = PAGES[fix.kind];
  return (
    <span class="row">
      {page && (
        <Link page={page} to={placeOf(fix)}>
          {t("why.go", { page })}
        </Link>
      )}
      {text && (
        <code>
          <SafeText text={text} />
        </code>
      )}
    </span>
  );
}

function Checks({ found, onDone }: { readonly found: Diagnosis; readonly onDone: () => void }) {
  const failed = found.checks.findIndex((check) => !check.ok);
  return (
    <>
      <Spoken>
        <strong>
          <SafeText text={found.answer} />
        </strong>
      </Spoken>
      <ol class="why-checks">
        {found.checks.map((check, index) => (
          <li key={check.id} class={index === failed ? "why-first" : undefined}>
            <Pill
              tone={check.ok ? "good" : index === failed ? "bad" : "warn"}
              says={t(check.ok ? "why.ok" : "why.not")}
            >
              <SafeText text={check.id} most={40} />
            </Pill>{" "}
            {(check.ok || index === failed) && <SafeText text={check.text} />}
            {!check.ok && index !== failed && (
              <details>
                <summary>{t("why.also")}</summary>
                <SafeText text={check.text} />
              </details>
            )}
            {check.fix && !check.ok && <FixButton fix={check.fix} onDone={onDone} />}
          </li>
        ))}
      </ol>
    </>
  );
}

interface Props {
  readonly device?: string;
  readonly tool?: string;
  readonly onClose: () => void;
}

/** "My phone's tool does not show": what stands between a tool and its caller, in order. */
export function Diagnose({ device: first = "", tool: firstTool = "", onClose }: Props) {
  const [device, setDevice] = useState(first);
  const [tool, setTool] = useState(firstTool);
  const [as, setAs] = useState("");
  const [found, setFound] = useState<Diagnosis>();
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const ask = () => {
    const wanted = Object.entries({ device, tool, as }).filter(([, value]) => value !== "");
    setBusy(true);
    setError(undefined);
    api
      .get<Diagnosis>(`/v1/admin/diagnose?${new URLSearchParams(wanted).toString()}`)
      .then(setFound, setError)
      .finally(() => setBusy(false));
  };
  return (
    <Dialog title={t("why.title")} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <TextField label={t("why.device")} value={device} onValue={setDevice} most={200} />
        <TextField label={t("why.tool")} value={tool} onValue={setTool} most={200} />
        <TextField label={t("why.as")} value={as} onValue={setAs} most={200} />
        <div class="row">
          <Button kind="primary" busy={busy} onPress={ask}>
            {t("why.ask")}
          </Button>
        </div>
        {error && <ErrorCard error={error} onRetry={ask} />}
        {found && <Checks found={found} onDone={ask} />}
      </form>
    </Dialog>
  );
}
