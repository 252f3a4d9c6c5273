import { useCallback, useEffect, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Dialog } from "@crab/web-shared/dialog";
import { lazy } from "@crab/web-shared/lazy";
import { Looks } from "@crab/web-shared/looks";
import { Switch } from "@crab/web-shared/switch";

import { canHavePasskeys } from "./passkeys/can";
import { addressOf, visit } from "./place";
import { singleKeys } from "./preferences";
import { ROUTES } from "./routes";
import { t } from "./strings/shell";

const CHORD_MS = 1_500;

/** Somebody types there; a letter is a letter. */
const takesText = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest("input, textarea, select") !== null;

function toFilter(): void {
  document.querySelector<HTMLElement>("#main [role=search] input")?.focus();
}

/** `g` and a page's key, `/` for the filter, `?` for the list. No key allows an approval. */
function useKeys(onList: () => void): void {
  useEffect(() => {
    let chord = 0;
    const press = (event: KeyboardEvent) => {
      const held = event.ctrlKey || event.metaKey || event.altKey;
      if (!singleKeys.value || held || event.defaultPrevented || takesText(event.target)) return;
      if (document.querySelector("dialog:modal")) return;
      const route = ROUTES.find(({ key }) => key === event.key);
      const chorded = event.timeStamp - chord < CHORD_MS && chord > 0;
      chord = event.key === "g" ? event.timeStamp : 0;
      if (chorded && route) visit(addressOf(route.page));
      else if (event.key === "/") toFilter();
      else if (event.key === "?") onList();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [onList]);
}

/** A single key of the page that is shown. */
export function useKey(key: string, press: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const held = event.ctrlKey || event.metaKey || event.altKey;
      if (!singleKeys.value || held || event.key !== key || takesText(event.target)) return;
      if (document.querySelector("dialog:modal")) return;
      event.preventDefault();
      press();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [key, press]);
}

const OTHERS = [
  ["/", "keys.filter"],
  [".", "keys.pause"],
  ["j k", "keys.rows"],
  ["Ctrl K", "keys.palette"],
  ["?", "keys.list"],
] as const;

function List() {
  return (
    <table>
      <tbody>
        {ROUTES.filter(({ key }) => key).map(({ page, key }) => (
          <tr key={page}>
            <td>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </td>
            <td>{t(`page.${page}`)}</td>
          </tr>
        ))}
        {OTHERS.map(([keys, words]) => (
          <tr key={keys}>
            <td>
              <kbd>{keys}</kbd>
            </td>
            <td>{t(words)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const Passkeys = lazy(() => import("./passkeys/passkeys"));

/** Theme, language and keys of this browser, and how its person signs in. */
export function Wishes() {
  return (
    <div class="stack">
      <Looks />
      {canHavePasskeys && <Passkeys />}
      <Switch on={singleKeys.value} onChange={(on) => (singleKeys.value = on)}>
        {t("keys.single")}
      </Switch>
      <List />
    </div>
  );
}

/** The button that opens the page's own looks and keys. */
export function Preferences() {
  const [open, setOpen] = useState(false);
  useKeys(useCallback(() => setOpen(true), []));
  return (
    <>
      <Button small kind="bare" icon="settings" label={t("looks")} onPress={() => setOpen(true)} />
      {open && (
        <Dialog title={t("looks")} onClose={() => setOpen(false)}>
          <Wishes />
        </Dialog>
      )}
    </>
  );
}
