import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { CopyButton } from "@crab/web-shared/copy-button";
import { Dialog } from "@crab/web-shared/dialog";
import { ErrorCard } from "@crab/web-shared/error-card";
import { TextField } from "@crab/web-shared/field";
import { Spoken } from "@crab/web-shared/live";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";
import { useSettled } from "@crab/web-shared/settled";

import { api, mayWrite } from "../store";
import { TryCall } from "./call";
import { type Checked, Checker } from "./check";
import { copies } from "./copies";
import { JsonArea } from "./json-area";
import { JsonTree } from "./json-tree";
import { CallView } from "./result-view";
import { initial, isObject, type Json, resolved } from "./schema";
import { SchemaForm } from "./schema-form";
import { t } from "./texts";
import "./try.css";

/** A tool as `GET A/tools/NAME` tells it, as far as it is tried here. */
export interface WholeTool {
  readonly name: string;
  readonly qualified_name: string;
  readonly source: string;
  readonly description?: string;
  readonly input_schema?: Json;
  readonly effects?: string;
  readonly state: string;
  readonly reason?: string;
  readonly timeout_ms_default?: number;
  readonly timeout_ms_max?: number;
}

/** Only a tool that says that it changes nothing is called by one press. */
export const needsTwo = (effects: string | undefined): boolean => effects !== "none";

function Verdict({ checked }: { readonly checked: Checked }) {
  const { check, error, waiting } = checked;
  if (error && error.status !== 401) return <ErrorCard error={error} />;
  if (!check) return <span class="quiet">{t("check.checking")}</span>;
  const rule = check.rule || t("check.rule");
  const refused = check.refusal;
  return (
    <Spoken as="span" class="row" busy={waiting}>
      {!check.valid && <Pill tone="bad">{t("check.errors", { n: check.errors.length })}</Pill>}
      {check.valid && check.verdict === "deny" && (
        <Pill tone="bad">{t("check.denied", { rule })}</Pill>
      )}
      {check.valid && check.verdict !== "deny" && !refused && (
        <Pill tone={check.approval ? "warn" : "good"}>
          {t(check.approval ? "check.asks" : "check.allowed", { rule })}
        </Pill>
      )}
      {refused && (
        <span>
          <strong>
            <SafeText text={refused.code} most={60} />
          </strong> <SafeText text={refused.message} />
        </span>
      )}
      {check.errors.map((one, index) => (
        <span key={index} class="field-error">
          <code>
            <SafeText text={one.pointer || "/"} most={80} />
          </code>{" "}
          <SafeText text={one.message} />
        </span>
      ))}
      {check.choices && (
        <span>
          {t("check.choices")} <SafeText text={check.choices.join(", ")} />
        </span>
      )}
    </Spoken>
  );
}

interface PressProps {
  readonly tool: WholeTool;
  readonly off: boolean;
  readonly again: boolean;
  readonly onCall: () => void;
}

/** One press for a tool without effects; for any other a second one that names what is touched. */
function CallButton({ tool, off, again, onCall }: PressProps) {
  const [asked, ask] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  if (!needsTwo(tool.effects))
    return (
      <Button kind="primary" off={off} onPress={onCall}>
        {t(again ? "call.again" : "call")}
      </Button>
    );
  return (
    <span class="row" ref={box}>
      {!asked && (
        <Button kind="primary" off={off} onPress={() => ask(true)}>
          {t(again ? "call.again" : "call")}
        </Button>
      )}
      {asked && (
        <Second
          tool={tool}
          onYes={() => {
            ask(false);
            if (!off) onCall();
          }}
          onNo={() => ask(false)}
        />
      )}
    </span>
  );
}

interface SecondProps {
  readonly tool: WholeTool;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

function Second({ tool, onYes, onNo }: SecondProps) {
  const box = useRef<HTMLSpanElement>(null);
  const { settled, still } = useSettled(box);
  return (
    <span class="row" ref={box} role="alert">
      <span>{t("call.effects", { source: tool.source })}</span>
      <Button kind="danger" off={!settled} onPress={() => still() && onYes()}>
        {t("call.sure", { tool: tool.name, source: tool.source })}
      </Button>
      <Button onPress={onNo}>{t("cancel")}</Button>
    </span>
  );
}

function Copies({ tool, args }: { readonly tool: string; readonly args: Json }) {
  const found = copies(tool, args);
  if (!found) return null;
  return (
    <span class="row">
      {(["cli", "curl", "ts"] as const).map((form) => (
        <CopyButton key={form} text={found[form]}>
          {t(`copy.${form}`)}
        </CopyButton>
      ))}
    </span>
  );
}

/** What somebody has typed: the arguments and how to call with them. */
function useWish(tool: WholeTool) {
  const schema = tool.input_schema ?? {};
  const [args, setArgs] = useState<Json>(
    () => initial(schema, { type: "object", ...resolved(schema, schema) }) ?? {},
  );
  const [as, setAs] = useState("");
  const [seconds, setSeconds] = useState("");
  const [key, setKey] = useState("");
  const timeoutMs = Number(seconds) > 0 ? Math.round(Number(seconds) * 1_000) : undefined;
  return { schema, args, setArgs, as, setAs, seconds, setSeconds, key, setKey, timeoutMs };
}

export function Try({ tool }: { readonly tool: WholeTool }) {
  const wish = useWish(tool);
  const { schema, args, as } = wish;
  const [asJson, setJson] = useState(false);
  const [broken, setBroken] = useState(false);
  const [whole, showWhole] = useState(false);
  const checker = useMemo(() => new Checker(api, tool.qualified_name), [tool.qualified_name]);
  const call = useMemo(() => new TryCall(api), [tool.qualified_name]);
  useEffect(() => () => checker.end(), [checker]);
  useEffect(() => () => call.end(), [call]);
  useEffect(() => checker.ask(args, as), [checker, args, as]);
  const checked = checker.state.value;
  const now = call.state.value;
  const running = now.state === "running";
  const errors = checked.check?.errors ?? [];
  const seconds = tool.timeout_ms_default && String(tool.timeout_ms_default / 1_000);
  const run = () => {
    const { timeoutMs, key } = wish;
    void call.run({ tool: tool.qualified_name, args, timeoutMs, key });
  };
  const form = isObject(schema) && isObject(args) && !asJson;
  return (
    <div class="try">
      <div class="row">
        <Button small pressed={!asJson} onPress={() => setJson(false)} off={broken}>
          {t("form")}
        </Button>
        <Button small pressed={asJson} onPress={() => setJson(true)}>
          {t("json")}
        </Button>
        <Button small kind="bare" onPress={() => showWhole(true)}>
          {t("schema")}
        </Button>
        <Copies tool={tool.qualified_name} args={args} />
      </div>
      {form && (
        <SchemaForm
          schema={schema}
          label={tool.name}
          value={args}
          errors={errors}
          onValue={(value) => wish.setArgs(value ?? {})}
        />
      )}
      {!form && (
        <JsonArea
          label={t("json")}
          value={args}
          onBroken={setBroken}
          onValue={(value) => wish.setArgs(value ?? {})}
        />
      )}
      <div class="try-options">
        <TextField
          label={t("check.as")}
          hint={t("check.as.hint")}
          value={as}
          onValue={wish.setAs}
          most={200}
        />
        <TextField
          label={t("timeout")}
          value={wish.seconds}
          onValue={wish.setSeconds}
          {...(seconds && { placeholder: seconds })}
        />
        <TextField label={t("key")} value={wish.key} onValue={wish.setKey} most={128} />
      </div>
      <div class="try-verdict">
        <Verdict checked={checked} />
      </div>
      {!mayWrite.value && <p class="notice warn">{t("call.readOnly")}</p>}
      {broken && <p class="notice warn">{t("call.broken")}</p>}
      <div class="row">
        {running && (
          <Button kind="danger" onPress={() => void call.cancel()}>
            {t("cancel")}
          </Button>
        )}
        {!running && (
          <CallButton
            tool={tool}
            off={broken || !mayWrite.value}
            again={now.state !== "none"}
            onCall={run}
          />
        )}
      </div>
      {now.state !== "none" && (
        <Card title={t("result")}>
          <CallView call={now} />
        </Card>
      )}
      {whole && (
        <Dialog wide title={t("schema")} onClose={() => showWhole(false)}>
          <JsonTree value={schema} />
        </Dialog>
      )}
    </div>
  );
}
