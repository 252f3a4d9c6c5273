import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Choice, TextField } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { visible } from "@crab/web-shared/visible";
import { shortName } from "@crab/web-shared/words";

import { JsonArea } from "./json-area";
import {
  alternativeOf,
  alternatives,
  type Child,
  escaped,
  fits,
  initial,
  isObject,
  isOpen,
  itemSchema,
  itemsOf,
  type Json,
  type JsonObject,
  kindOf,
  limitsOf,
  membersOf,
  moved,
  resolved,
  textOf,
  valuesOf,
  withItem,
  withMember,
} from "./schema";
import "./schema-form.css";
import { t } from "./texts";

export interface FieldError {
  readonly pointer: string;
  readonly keyword: string;
  readonly message: string;
}

interface Node {
  readonly root: Json;
  readonly schema: JsonObject;
  readonly name: string;
  readonly pointer: string;
  readonly value: Json | undefined;
  readonly required: boolean;
  readonly errors: readonly FieldError[];
  readonly onValue: (value: Json | undefined) => void;
}

/** Levels that are open at first; below them a person opens one after the other. */
const OPEN_LEVELS = 3;
/** Deeper than this it is JSON: alternatives may be alternatives of themselves. */
const MOST_LEVELS = 24;
const MOST_OPTIONS = 200;

const plain = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The words of a node's control: its name, what is expected, what is wrong. */
function useWords({ schema, pointer, errors, name, required }: Node) {
  const id = useId();
  const wrong = errors.filter((error) => error.pointer === pointer);
  const described = [textOf(schema, "description"), limitsOf(schema)].filter(Boolean);
  const preset = schema["default"];
  if (preset !== undefined) described.push(t("default.is", { value: plain(preset) }));
  const about = described.length > 0 && (
    <span id={`${id}-about`} class="schema-about">
      <SafeText text={described.join(" - ")} most={240} />
    </span>
  );
  const says = wrong.length > 0 && (
    <span id={`${id}-error`} class="field-error">
      {wrong.map((error, index) => (
        <span key={index}>
          <SafeText text={error.message} />{" "}
        </span>
      ))}
    </span>
  );
  const label = (
    <>
      <SafeText text={shortName(name)} />
      {required && <span class="quiet"> ({t("required")})</span>}
    </>
  );
  const ids = {
    id,
    "aria-describedby":
      [about && `${id}-about`, says && `${id}-error`].filter(Boolean).join(" ") || undefined,
    "aria-invalid": says ? true : undefined,
  };
  return { ids, label, about, says };
}

/** A node's frame: label, buttons, control, words. */
function Frame({
  node,
  buttons,
  control,
}: {
  readonly node: Node;
  readonly buttons?: ComponentChildren;
  readonly control: (ids: ReturnType<typeof useWords>["ids"]) => ComponentChildren;
}) {
  const { ids, label, about, says } = useWords(node);
  return (
    <div class="schema-node">
      <div class="schema-head">
        <label for={ids.id} class="field-label">
          {label}
        </label>
        {buttons}
      </div>
      {control(ids)}
      {about}
      {says}
    </div>
  );
}

function Unset({ node }: { readonly node: Node }) {
  if (node.value === undefined) return <span class="quiet">{t("unset")}</span>;
  if (node.required) return null;
  return (
    <Button
      small
      kind="bare"
      icon="cross"
      label={t("unset.do", { name: node.name })}
      onPress={() => node.onValue(undefined)}
    />
  );
}

function TextNode({ node }: { readonly node: Node }) {
  const text = typeof node.value === "string" ? node.value : "";
  return (
    <Frame
      node={node}
      buttons={<Unset node={node} />}
      control={(ids) => (
        <textarea
          {...ids}
          class="input"
          rows={Math.min(8, text.split("\n").length)}
          value={text}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => node.onValue(event.currentTarget.value)}
        />
      )}
    />
  );
}

/** What a typed number is; the text itself where it is none, for the gateway to say so. */
export const numberOrText = (text: string): Json | undefined => {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) && String(text).trim() !== "" ? value : text;
};

function NumberNode({ node }: { readonly node: Node }) {
  const [draft, setDraft] = useState("");
  const kept = node.value === undefined ? "" : plain(node.value);
  const shown = numberOrText(draft) === node.value ? draft : kept; // `1.` on the way to `1.5`
  return (
    <Frame
      node={node}
      buttons={<Unset node={node} />}
      control={(ids) => (
        <input
          {...ids}
          class="input"
          inputMode="decimal"
          autocomplete="off"
          value={shown}
          onInput={(event) => {
            setDraft(event.currentTarget.value);
            node.onValue(numberOrText(event.currentTarget.value));
          }}
        />
      )}
    />
  );
}

/** One of a few values; the first option is that there is none. */
function SelectNode({
  node,
  options,
}: {
  readonly node: Node;
  readonly options: readonly { readonly value: Json; readonly label: string }[];
}) {
  const now = JSON.stringify(node.value);
  const chosen = options.findIndex((option) => JSON.stringify(option.value) === now);
  return (
    <Frame
      node={node}
      control={(ids) => (
        <select
          {...ids}
          class="input"
          value={String(chosen)}
          onChange={(event) => node.onValue(options[Number(event.currentTarget.value)]?.value)}
        >
          <option value="-1">{t("unset")}</option>
          {options.map((option, index) => (
            <option key={index} value={String(index)}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    />
  );
}

const enumOptions = (schema: JsonObject) =>
  valuesOf(schema)
    .slice(0, MOST_OPTIONS)
    .map((value) => ({ value, label: visible(shortName(plain(value))) }));

const yesOrNo = () => [
  { value: true, label: t("bool.yes") },
  { value: false, label: t("bool.no") },
];

/** The name of a member that is none of the schema's. */
function AddMember({ node }: { readonly node: Node }) {
  const [name, setName] = useState("");
  const has = isObject(node.value) && Object.keys(node.value).includes(name);
  return (
    <div class="row">
      <TextField bare label={t("member.name")} value={name} onValue={setName} most={200} />
      <Button
        small
        icon="plus"
        off={name === "" || has}
        onPress={() => {
          node.onValue(withMember(node.value, name, ""));
          setName("");
        }}
      >
        {t("member.add")}
      </Button>
    </div>
  );
}

const below = (node: Node, child: Child, onValue: Node["onValue"]): Node => ({
  root: node.root,
  errors: node.errors,
  schema: child.schema,
  name: child.key,
  required: child.required,
  value: child.value,
  pointer: `${node.pointer}/${escaped(child.key)}`,
  onValue,
});

function ObjectNode({ node, depth }: { readonly node: Node; readonly depth: number }) {
  const children = membersOf(node.root, node.schema, node.value);
  return (
    <Group node={node} depth={depth}>
      {children.map((child) => (
        <SchemaNode
          key={child.key}
          depth={depth + 1}
          node={below(node, child, (value) =>
            node.onValue(withMember(node.value, child.key, value)),
          )}
        />
      ))}
      {isOpen(node.schema) && <AddMember node={node} />}
    </Group>
  );
}

function ArrayNode({ node, depth }: { readonly node: Node; readonly depth: number }) {
  const items = itemsOf(node.root, node.schema, node.value);
  const add = () => {
    const schema = itemSchema(node.root, node.schema, items.length);
    const kind = kindOf(schema);
    const empty = kind === "string" ? "" : kind === "boolean" ? false : null;
    node.onValue(withItem(node.value, items.length, initial(node.root, schema) ?? empty));
  };
  return (
    <Group node={node} depth={depth}>
      {items.map((child, index) => {
        const name = t("array.item", { index: index + 1 });
        const inner = below(node, child, (value) =>
          node.onValue(withItem(node.value, index, value ?? null)),
        );
        const button = (icon: "up" | "down" | "cross", text: string, next: () => Json[]) => (
          <Button small kind="bare" icon={icon} label={text} onPress={() => node.onValue(next())} />
        );
        return (
          <div key={index} class="schema-node">
            <SchemaNode depth={depth + 1} node={{ ...inner, name, required: true }} />
            <div class="row">
              {index > 0 &&
                button("up", t("array.up", { name }), () => moved(node.value, index, -1))}
              {index + 1 < items.length &&
                button("down", t("array.down", { name }), () => moved(node.value, index, 1))}
              {button("cross", t("array.remove", { name }), () =>
                withItem(node.value, index, undefined),
              )}
            </div>
          </div>
        );
      })}
      <div>
        <Button small icon="plus" onPress={add}>
          {t("array.add")}
        </Button>
      </div>
    </Group>
  );
}

/** A set of controls. Deep ones are drawn once they are opened, so recursion ends by itself. */
function Group({
  node,
  depth,
  children,
}: {
  readonly node: Node;
  readonly depth: number;
  readonly children: ComponentChildren;
}) {
  const [open, setOpen] = useState(depth < OPEN_LEVELS && (node.required || depth === 0));
  const [asJson, setJson] = useState(false);
  const { label, about, says } = useWords(node);
  const shown = open || node.value !== undefined;
  return (
    <fieldset class="schema-group">
      <legend class={depth === 0 ? "unseen-caption" : "field-label"}>{label}</legend>
      {about}
      {says}
      <div class="row">
        {!shown && (
          <Button
            small
            icon="plus"
            onPress={() => {
              setOpen(true);
              node.onValue(initial(node.root, node.schema));
            }}
          >
            {t("set", { name: node.name })}
          </Button>
        )}
        {shown && depth > 0 && (
          <>
            <Button small pressed={asJson} onPress={() => setJson(!asJson)}>
              {t("json")}
            </Button>
            <Unset
              node={{
                ...node,
                onValue: (value) => {
                  setOpen(false);
                  node.onValue(value);
                },
              }}
            />
          </>
        )}
      </div>
      {shown && !asJson && children}
      {shown && asJson && <JsonArea label={node.name} value={node.value} onValue={node.onValue} />}
    </fieldset>
  );
}

function ChoiceNode({ node, depth }: { readonly node: Node; readonly depth: number }) {
  const all = alternatives(node.root, node.schema);
  const [chosen, choose] = useState(() => alternativeOf(node.root, node.schema, node.value));
  const fitting =
    node.value === undefined || fits(node.root, all[chosen] ?? {}, node.value)
      ? chosen
      : alternativeOf(node.root, node.schema, node.value);
  const label = (one: JsonObject, index: number) =>
    visible(shortName(textOf(one, "title") || textOf(one, "type"))) ||
    t("choice.nth", { index: index + 1 });
  const pick = (index: number) => {
    const schema = all[index] ?? {};
    choose(index);
    if (node.value !== undefined && !fits(node.root, schema, node.value))
      node.onValue(textOf(schema, "type") === "null" ? null : initial(node.root, schema));
  };
  return (
    <div class="schema-choice">
      <Choice
        label={<SafeText text={`${shortName(node.name)}: ${t("choice")}`} />}
        value={String(fitting)}
        options={all.map((one, index) => ({ value: String(index), label: label(one, index) }))}
        onValue={(index) => pick(Number(index))}
      />
      <SchemaNode key={fitting} depth={depth + 1} node={{ ...node, schema: all[fitting] ?? {} }} />
    </div>
  );
}

/** A value by its schema: a form where there is one for it, JSON where there is none. */
export function SchemaNode({ node, depth }: { readonly node: Node; readonly depth: number }) {
  const { schema, value } = node;
  const kind = kindOf(schema);
  const shaped = value === undefined || fits(node.root, schema, value);
  if (kind === "number" && (shaped || typeof value === "string")) return <NumberNode node={node} />;
  if (kind === "json" || !shaped || depth > MOST_LEVELS)
    return (
      <div class="schema-node">
        <JsonArea label={node.name} value={value} onValue={node.onValue} />
        <Unset node={node} />
      </div>
    );
  if (kind === "object") return <ObjectNode node={node} depth={depth} />;
  if (kind === "array") return <ArrayNode node={node} depth={depth} />;
  if (kind === "choice") return <ChoiceNode node={node} depth={depth} />;
  if (kind === "enum") return <SelectNode node={node} options={enumOptions(schema)} />;
  if (kind === "boolean") return <SelectNode node={node} options={yesOrNo()} />;
  return <TextNode node={node} />;
}

interface FormProps {
  readonly schema: Json;
  readonly label: string;
  readonly value: Json | undefined;
  readonly errors: readonly FieldError[];
  readonly onValue: (value: Json | undefined) => void;
}

/** The arguments of a tool. */
export function SchemaForm({ schema, label, value, errors, onValue }: FormProps) {
  const node: Node = {
    root: schema,
    schema: resolved(schema, schema),
    name: label,
    pointer: "",
    value,
    required: true,
    errors,
    onValue,
  };
  return <SchemaNode node={node} depth={0} />;
}
