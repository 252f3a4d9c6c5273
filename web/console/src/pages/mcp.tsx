import { useCallback } from "preact/hooks";

import { Card } from "@crab/web-shared/card";
import { Drawer } from "@crab/web-shared/drawer";
import { EmptyState } from "@crab/web-shared/empty-state";
import { Pill } from "@crab/web-shared/pill";
import { SafeText } from "@crab/web-shared/safe-text";

import { Facts } from "../facts";
import { Link } from "../link";
import { Loaded, usePoll } from "../loaded";
import { Changes } from "../mcp/changes";
import { type McpServer, STATES } from "../mcp/shapes";
import { t } from "../mcp/texts";
import { PageTitle } from "../page-title";
import { go, place } from "../place";
import { api } from "../store";
import { t as shell } from "../strings/shell";

const EVERY_MS = 3_000;
const TONES = {
  stopped: "plain",
  starting: "plain",
  ready: "good",
  failing: "bad",
  disabled: "plain",
} as const;

function State({ server }: { readonly server: McpServer }) {
  const known = STATES.find((state) => state === server.state);
  return (
    <Pill tone={known ? TONES[known] : "warn"}>
      {known ? t(`state.${known}`) : <SafeText text={server.state} most={40} />}
    </Pill>
  );
}

const parts = ({ tools, prompts, resources }: McpServer): string =>
  t("parts", { tools, prompts, resources });

function Row({ server }: { readonly server: McpServer }) {
  return (
    <tr>
      <td>
        <Link to={{ server: server.name }}>
          <SafeText text={server.name} most={80} />
        </Link>
        <div class="quiet">{server.error ? <SafeText text={server.error} /> : parts(server)}</div>
        {server.held > 0 && <Pill tone="warn">{t("held", { n: server.held })}</Pill>}
      </td>
      <td class="number">
        <State server={server} />
      </td>
    </tr>
  );
}

function LeftOut({ server }: { readonly server: McpServer }) {
  if (server.left_out.length === 0) return null;
  return (
    <section aria-label={t("left.out")}>
      <h3>{t("left.out")}</h3>
      <ul class="plain">
        {server.left_out.map(({ name, reason }) => (
          <li key={name}>
            <strong>
              <SafeText text={name} most={120} />
            </strong>{" "}
            <SafeText text={reason} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function ServerDrawer({
  server,
  again,
}: {
  readonly server: McpServer;
  readonly again: () => void;
}) {
  const { off_schema: off, off_schema_tool: tool = "" } = server;
  return (
    <Drawer title={<SafeText text={server.name} most={80} />} onClose={() => go({ server: "" })}>
      <div class="stack">
        <div class="row">
          <State server={server} /> <span class="quiet">{parts(server)}</span>
        </div>
        {server.error && (
          <p class="notice bad">
            <SafeText text={server.error} />
          </p>
        )}
        <Facts
          facts={[
            [t("argv"), server.argv?.join(" ")],
            [t("url"), server.url],
            [t("server"), server.server],
            [t("version"), server.version],
            [t("origin"), server.configured ? t("configured") : server.origin || t("added")],
          ]}
        />
        {off > 0 && <p class="notice warn">{t("off", { n: off, tool })}</p>}
        <section aria-label={t("changes")}>
          <h3>{t("changes")}</h3>
          <Changes key={server.name} name={server.name} onDone={again} />
        </section>
        <LeftOut server={server} />
        {server.stderr && (
          <section aria-label={t("stderr")}>
            <h3>{t("stderr")}</h3>
            <div class="diff" tabIndex={0}>
              <SafeText text={server.stderr} most={8_192} lines />
            </div>
          </section>
        )}
      </div>
    </Drawer>
  );
}

/** MCP servers whose tools are offered on: how they do, what they lack, what waits. */
export default function Mcp() {
  const poll = usePoll(
    () => api.get<{ servers: readonly McpServer[] }>("/v1/mcp/servers"),
    EVERY_MS,
  );
  const again = useCallback(() => void poll.again(), [poll]);
  const name = place.value.get("server");
  return (
    <>
      <PageTitle name={shell("page.mcp")} />
      <Loaded poll={poll}>
        {({ servers }) => {
          const open = servers.find((server) => server.name === name);
          return (
            <>
              {servers.length === 0 && <EmptyState title={t("none")}>{t("none.why")}</EmptyState>}
              {servers.length > 0 && (
                <Card>
                  <table>
                    <caption class="unseen-caption">{shell("page.mcp")}</caption>
                    <tbody>
                      {servers.map((server) => (
                        <Row key={server.name} server={server} />
                      ))}
                    </tbody>
                  </table>
                </Card>
              )}
              {open && <ServerDrawer key={open.name} server={open} again={again} />}
            </>
          );
        }}
      </Loaded>
    </>
  );
}
