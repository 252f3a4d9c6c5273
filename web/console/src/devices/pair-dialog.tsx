import { useEffect, useRef, useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { CopyButton } from "@crab/web-shared/copy-button";
import { Dialog } from "@crab/web-shared/dialog";
import { ErrorCard } from "@crab/web-shared/error-card";
import { Spoken } from "@crab/web-shared/live";
import { SafeText } from "@crab/web-shared/safe-text";
import { Skeleton } from "@crab/web-shared/skeleton";

import { type ApiError, segment } from "../api";
import { Link } from "../link";
import { usePoll } from "../loaded";
import { api } from "../store";
import { quoted } from "../try/copies";
import { Code, PairPhone } from "./pair-phone";
import { PairScript } from "./pair-script";
import { pairedSince } from "./pairing";
import { type DeviceList, type DeviceRow, type Pairing, slugOf } from "./shapes";
import { t } from "./texts";

const MODES = ["phone", "machine", "script"] as const;
type Mode = (typeof MODES)[number];
const LOOK_MS = 1_500;

const readDevices = () => api.get<DeviceList>("/v1/admin/devices");

interface Made {
  readonly pairing?: Pairing;
  readonly error?: ApiError;
}

/**
 * A code for as long as this is drawn; the code before is closed, as is the last one unless it was
 * used. What it returns last is called for one that was.
 */
function usePairing(device: string | undefined): [Made, () => void, () => void] {
  const [made, setMade] = useState<Made>({});
  const open = useRef<string>();
  const close = () => {
    if (open.current !== undefined)
      api.delete(`/v1/admin/pairings/${segment(open.current)}`).catch(() => undefined);
    open.current = undefined;
  };
  const make = () => {
    close();
    setMade({});
    const body = device === undefined ? {} : { device };
    api.post<Pairing>("/v1/admin/devices/pair", body).then(
      (pairing) => {
        open.current = pairing.id;
        setMade({ pairing });
      },
      (error: ApiError) => setMade({ error }),
    );
  };
  useEffect(() => {
    make();
    return close;
  }, []);
  const used = () => {
    open.current = undefined;
  };
  return [made, make, used];
}

function Machine({ pairing, again }: { readonly pairing: Pairing; readonly again: () => void }) {
  const { code = "", gateway, ca_file, only_here } = pairing;
  const command = [
    "crab devices run --pair",
    quoted(code),
    gateway && !only_here && `--gateway ${quoted(gateway)}`,
    ca_file && !only_here && `--ca-file ${quoted(ca_file)}`,
  ];
  const text = command.filter(Boolean).join(" ");
  return (
    <div class="stack">
      <p>{t("pair.machine.how")}</p>
      <pre class="pair-command">
        <SafeText text={text} most={Infinity} />
      </pre>
      <div class="row">
        <CopyButton text={text} />
      </div>
      <Code pairing={pairing} again={again} />
    </div>
  );
}

/** What the dialog becomes once the device is there. */
function Paired({
  row: first,
  onClose,
}: {
  readonly row: DeviceRow;
  readonly onClose: () => void;
}) {
  const poll = usePoll(readDevices, LOOK_MS);
  const now = poll.state.value.data?.devices.find(({ principal }) => principal === first.principal);
  const row = now ?? first;
  return (
    <div class="stack">
      <Spoken>{t("pair.now", { name: row.name, n: row.tools })}</Spoken>
      <div class="row">
        {row.tools > 0 && (
          <Link page="tools" to={{ source: row.principal }} onGo={onClose}>
            {t("pair.try")}
          </Link>
        )}
        <Link page="devices" to={{ device: slugOf(row) }} onGo={onClose}>
          {t("pair.tools")}
        </Link>
      </div>
    </div>
  );
}

function CodeFor(props: {
  readonly mode: Mode;
  readonly device: string | undefined;
  readonly before: DeviceList;
  readonly onPaired: (row: DeviceRow) => void;
}) {
  const [{ pairing, error }, again, used] = usePairing(props.device);
  const poll = usePoll(readDevices, LOOK_MS);
  const found = poll.state.value.data && pairedSince(props.before, poll.state.value.data);
  useEffect(() => {
    if (!found) return;
    used();
    props.onPaired(found);
  }, [found !== undefined]);
  if (error) return <ErrorCard error={error} onRetry={again} />;
  if (!pairing) return <Skeleton size="card" />;
  return (
    <>
      {props.mode === "machine" ? (
        <Machine pairing={pairing} again={again} />
      ) : (
        <PairPhone pairing={pairing} again={again} />
      )}
      <p class="quiet">{t("pair.waiting")}</p>
    </>
  );
}

interface Props {
  /** The devices that there were when it was opened. */
  readonly before: DeviceList;
  /** Another credential for this one. */
  readonly device?: string | undefined;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** Pairs a phone, a machine or a script; goes on by itself once the device is there. */
export function PairDialog({ before, device, onClose, onMade }: Props) {
  const [mode, setMode] = useState<Mode>("phone");
  const [paired, setPaired] = useState<DeviceRow>();
  const done = (row: DeviceRow) => {
    setPaired(row);
    onMade();
  };
  const title = paired ? t("pair.done", { name: paired.name }) : t("pair.title");
  return (
    <Dialog title={title} onClose={onClose}>
      {paired && <Paired row={paired} onClose={onClose} />}
      {!paired && (
        <div class="stack">
          <div class="row" role="group" aria-label={t("pair.modes")}>
            {MODES.filter((one) => device === undefined || one !== "script").map((one) => (
              <Button key={one} small pressed={mode === one} onPress={() => setMode(one)}>
                {t(`pair.${one}`)}
              </Button>
            ))}
          </div>
          {mode === "script" && <PairScript onMade={onMade} />}
          {mode !== "script" && (
            <CodeFor mode={mode} device={device} before={before} onPaired={done} />
          )}
        </div>
      )}
    </Dialog>
  );
}
