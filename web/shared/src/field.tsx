import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

import "./field.css";

interface FieldProps {
  readonly label: ComponentChildren;
  /** What is expected; part of the control's description. */
  readonly hint?: ComponentChildren;
  readonly error?: ComponentChildren;
  /** The label is only for screen readers: what stands around says it. */
  readonly bare?: boolean;
}

interface Ids {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

/** A control with its label, its hint and what is wrong with it, tied together. */
export function Field(props: FieldProps & { readonly control: (ids: Ids) => JSX.Element }) {
  const id = useId();
  const { label, hint, error, bare = false, control } = props;
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id} class={bare ? "unseen-caption" : "field-label"}>
        {label}
      </label>
      {control({
        id,
        "aria-describedby": about || undefined,
        "aria-invalid": error ? true : undefined,
      })}
      {hint && (
        <span id={`${id}-hint`} class={bare ? "unseen-caption" : "quiet"}>
          {hint}
        </span>
      )}
      {error && (
        <span id={`${id}-error`} class="field-error">
          {error}
        </span>
      )}
    </div>
  );
}

interface TextProps extends FieldProps {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly type?: "text" | "search" | "password" | "number" | "datetime-local";
  readonly placeholder?: string;
  readonly most?: number;
  /** Values that are offered, none that has to be one of them. */
  readonly suggestions?: readonly string[];
}

export function TextField(props: TextProps) {
  const { value, onValue, type = "text", placeholder, most, suggestions, ...rest } = props;
  const list = useId();
  return (
    <Field
      {...rest}
      control={(ids) => (
        <>
          <input
            {...ids}
            class="input"
            type={type}
            value={value}
            maxLength={most}
            placeholder={placeholder}
            list={suggestions && list}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
          {suggestions && (
            <datalist id={list}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    />
  );
}

interface ChoiceProps extends FieldProps {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

/** One of a few; labels of options are plain strings, so foreign ones go through `visible`. */
export function Choice({ value, onValue, options, ...rest }: ChoiceProps) {
  return (
    <Field
      {...rest}
      control={(ids) => (
        <select
          {...ids}
          class="input"
          value={value}
          onChange={(event) => onValue(event.currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    />
  );
}
