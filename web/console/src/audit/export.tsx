import { useState } from "preact/hooks";

import { Button } from "@crab/web-shared/button";
import { Dialog } from "@crab/web-shared/dialog";

import { useDoing } from "../doing";
import { download } from "../save";
import { t } from "./texts";

const FORMATS = ["jsonl", "csv"] as const;

/** All that a filter finds, as a file; the gateway defuses formulas in CSV. */
export function Export({ query }: { readonly query: URLSearchParams }) {
  const [open, setOpen] = useState(false);
  const [busy, run] = useDoing(() => setOpen(false));
  const get = (format: string) => {
    const all = new URLSearchParams(query);
    all.set("format", format);
    const path = `/v1/admin/audit/export?${all}`;
    void run(download(path, `crab-audit.${format}`), t("export.done"));
  };
  return (
    <>
      <Button small icon="download" onPress={() => setOpen(true)}>
        {t("export")}
      </Button>
      {open && (
        <Dialog title={t("export.of")} onClose={() => setOpen(false)}>
          <div class="row">
            {FORMATS.map((format) => (
              <Button key={format} busy={busy} onPress={() => get(format)}>
                {t(`export.${format}`)}
              </Button>
            ))}
          </div>
        </Dialog>
      )}
    </>
  );
}
