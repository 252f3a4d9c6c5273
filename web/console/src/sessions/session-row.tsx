import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Confirm, Dialog } from "@crab/web-shared/dialog";
import { TextField } from "@crab/web-shared/field";
import { SafeText } from "@crab/web-shared/safe-text";
import { distance } from "@crab/web-shared/words";

import { useDoing } from "../doing";
import { Link } from "../link";
import { api, mayWrite } from "../store";
import { type ChatSession, sessionPath, titleOf } from "./shapes";
import { t } from "./texts";

interface Props {
  readonly session: ChatSession;
  readonly again: () => void;
}

export function Rename({ session, again }: Props) {
  const [name, setName] = useState<string>();
  const [busy, run] = useDoing(() => {
    setName(undefined);
    again();
  });
  const save = () =>
    void run(
      api.put(sessionPath(session.session_id), { name }),
      t("renamed", { name: name ?? "" }),
    );
  return (
    <>
      <Button
        small
        off={!mayWrite.value}
        label={t("rename.of", { name: titleOf(session) })}
        onPress={() => setName(session.name ?? "")}
      >
        {t("rename")}
      </Button>
      {name !== undefined && (
        <Dialog title={t("rename")} onClose={() => setName(undefined)}>
          <form
            class="stack"
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() !== "") save();
            }}
          >
            <TextField label={t("name")} value={name} onValue={setName} most={128} />
            <div class="row">
              <Button kind="primary" busy={busy} off={name.trim() === ""} onPress={save}>
                {t("save")}
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  );
}

export function Delete({ session, again }: Props) {
  const [asked, ask] = useState(false);
  const [busy, run] = useDoing(() => {
    ask(false);
    again();
  });
  const name = titleOf(session);
  return (
    <>
      <Button
        small
        kind="danger"
        off={!mayWrite.value}
        label={t("delete.of", { name })}
        onPress={() => ask(true)}
      >
        {t("delete")}
      </Button>
      {asked && (
        <Confirm
          title={t("delete.sure", { name })}
          action={t("delete")}
          busy={busy}
          onYes={() =>
            void run(api.delete(sessionPath(session.session_id)), t("deleted", { name }))
          }
          onNo={() => ask(false)}
        >
          <p>{t("delete.what")}</p>
        </Confirm>
      )}
    </>
  );
}

/** A session in the list: its name, its agent, and what may be done with it. */
export function SessionRow({ session, again }: Props) {
  return (
    <tr>
      <td>
        <Link page="chat" to={{ session: session.session_id }}>
          <SafeText text={titleOf(session)} most={100} />
        </Link>
        <div class="quiet">
          {session.persona && <SafeText text={session.persona} most={60} />}{" "}
          {t("messages", { n: session.message_count })}, {distance(session.last_activity)}
        </div>
      </td>
      <td class="number">
        <div class="session-actions">
          <Rename session={session} again={again} />
          <Delete session={session} again={again} />
        </div>
      </td>
    </tr>
  );
}
