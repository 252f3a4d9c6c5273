import { Button } from "@crab/web-shared/button";
import { Card } from "@crab/web-shared/card";
import { Dialog } from "@crab/web-shared/dialog";
import { TextField } from "@crab/web-shared/field";
import { Looks } from "@crab/web-shared/looks";
import { toast } from "@crab/web-shared/toast";
import { useEffect, useState } from "preact/hooks";

import type { DevicePage } from "../device-page.js";
import { canInstall, install, installsByShare } from "../install.js";
import { gateway } from "../state.js";
import { later } from "../strings/later.js";
import { canBeWoken, isWoken, letMeSleep, wakeMe } from "../wake.js";

interface Props {
  readonly page: DevicePage;
}

const mostName = 60;

function Name({ page }: Props) {
  const [name, set] = useState(page.name.value);
  const wanted = name.trim();
  const same = wanted === "" || wanted === page.name.value;
  return (
    <form
      class="name-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!same) page.rename(wanted);
      }}
    >
      <TextField label={later("name.field")} value={name} most={mostName} onValue={set} />
      <button type="submit" class="button" aria-disabled={same || undefined}>
        {later("name.save")}
      </button>
    </form>
  );
}

function Install() {
  if (!canInstall() && !installsByShare()) return null;
  return (
    <Card title={later("install.title")}>
      {canInstall() ? (
        <Button onPress={() => void install()}>{later("install.do")}</Button>
      ) : (
        <p>{later("install.iphone")}</p>
      )}
    </Card>
  );
}

const permission = () => ("Notification" in window ? Notification.permission : undefined);

/** A question while the page is hidden is a notice, once the person allows those. */
function Notices() {
  const [state, set] = useState(permission);
  if (state === undefined) return null;
  const ask = () => void Notification.requestPermission().then(set);
  return (
    <Card title={later("notices.title")}>
      <div class="stack">
        <p class="quiet">{later("notices.how")}</p>
        {state === "granted" && <p>{later("notices.on")}</p>}
        {state === "denied" && <p>{later("notices.blocked")}</p>}
        {state === "default" && (
          <p>
            <Button onPress={ask}>{later("notices.allow")}</Button>
          </p>
        )}
      </div>
    </Card>
  );
}

/** Whether a call wakes this device while it sleeps. */
function Wake({ page }: Props) {
  const [on, set] = useState<boolean>();
  useEffect(() => {
    if (canBeWoken()) void isWoken().then(set, () => undefined);
  }, []);
  if (!canBeWoken()) return null;
  const failed = (error: unknown) => toast({ text: String((error as Error).message) });
  const change = () =>
    void (on ? letMeSleep(page.options).then(() => false) : wakeMe(page.options)).then(set, failed);
  return (
    <Card title={later("wake.title")}>
      <div class="stack">
        <p class="quiet">{later("wake.how")}</p>
        <p>
          <Button onPress={change}>{later(on ? "wake.off" : "wake.on")}</Button>
        </p>
      </div>
    </Card>
  );
}

/** The console of the same gateway, where it offers one to browsers. */
function Ways() {
  const [there, set] = useState(false);
  const console = new URL("console/", gateway).href;
  useEffect(() => {
    void fetch(console, { method: "HEAD" }).then(
      ({ ok }) => set(ok),
      () => undefined,
    );
  }, [console]);
  if (!there) return null;
  return (
    <Card title={later("ways.title")}>
      <p class="row">
        <a class="button" href={`${console}?page=chat`}>
          {later("ways.chat")}
        </a>
        <a class="button" href={console}>
          {later("ways.console")}
        </a>
      </p>
    </Card>
  );
}

function Unpair({ page }: Props) {
  const [asked, ask] = useState(false);
  return (
    <>
      <Button kind="danger" onPress={() => ask(true)}>
        {later("unpair")}
      </Button>
      {asked && (
        <Dialog title={later("unpair.title")} onClose={() => ask(false)}>
          <p>{later("unpair.what")}</p>
          <div class="dialog-actions">
            <Button kind="danger" onPress={() => page.unpair()}>
              {later("unpair.do")}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Name, looks, home screen, notices, other pages, and the way out. */
export function About({ page }: Props) {
  return (
    <div class="stack">
      <Card title={later("about.title")}>
        <div class="stack">
          <Name page={page} />
          <Looks />
          <p class="quiet">{later("pair.gateway", { host: new URL(gateway).host })}</p>
        </div>
      </Card>
      <Install />
      <Notices />
      <Wake page={page} />
      <Ways />
      <p>
        <Unpair page={page} />
      </p>
    </div>
  );
}
