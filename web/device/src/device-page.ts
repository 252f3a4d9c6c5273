import {
  ConsentBook,
  Device,
  type DeviceEvent,
  storedDecisions,
  type TokenSource,
} from "@crab/device";

import { Activity } from "./activity.js";
import { install, watchInstall } from "./install.js";
import { watchPresence } from "./presence.js";
import type { SettingsStore } from "./settings.js";
import type { Hands, PageTool } from "./tools/page-tool.js";
import { ConsentDialog } from "./ui/consent-dialog.js";
import { DeviceView } from "./ui/device-view.js";

const refreshMs = 5_000; // of the times in the lists

/** A paired browser: the device, the person's answers, and the view of both. */
export class DevicePage {
  readonly element: HTMLElement;
  private readonly device: Device;
  private readonly view: DeviceView;
  private readonly activity: Activity;
  private readonly dialog: ConsentDialog;
  private readonly abort = new AbortController();
  private readonly hands: Hands;
  private running = false;

  constructor(
    private readonly options: {
      gateway: string;
      token: string | TokenSource;
      settings: SettingsStore;
      tools: readonly PageTool[];
      /** The token is no longer valid, or the person unpaired the device. */
      unpaired: (why: string | undefined) => void;
    },
  ) {
    const { gateway, token, settings, tools } = options;
    const name = settings.get().name;
    this.view = new DeviceView({
      gateway,
      name,
      tools,
      isOn: (tool) => this.isOn(tool),
      actions: {
        switchTool: (tool, on) => this.switchTool(tool, on),
        forget: (decision) => book.forget(decision),
        pauseOrResume: () => this.pauseOrResume(),
        install: () => void install(),
        unpair: () => this.end(undefined),
      },
    });
    this.element = this.view.element;
    this.activity = new Activity(() => this.view.showActivity(this.activity, Date.now()));
    this.dialog = new ConsentDialog(this.element, (wanted) =>
      tools.find((tool) => tool.name === wanted),
    );
    this.hands = {
      tap: (call, what) => this.dialog.tap(call, what),
      gave: (call, given) => this.activity.gave(call.id, given),
    };
    const book = new ConsentBook({
      ask: this.dialog.ask,
      store: storedDecisions(localStorage, "crab.consent"),
      changed: () => this.view.showDecisions(book.list()),
    });
    this.device = new Device({
      gateway,
      token,
      name,
      consent: book.consent,
      onCall: this.activity.onCall,
      onEvent: (event) => this.onEvent(event),
    });
    for (const tool of tools) {
      if (this.isOn(tool)) this.offer(tool);
    }
    this.view.showActivity(this.activity, Date.now());
    this.view.showDecisions(book.list());
    this.listen();
  }

  /** Answers calls from now on, unless the person has paused it. */
  start(): void {
    if (this.options.settings.get().paused) {
      this.view.showLink({ kind: "ended", end: { reason: "stopped", message: "" } }, Date.now());
      return;
    }
    this.running = true;
    this.device.start();
  }

  /** Another tab answers now. */
  yieldToOtherTab(): void {
    this.running = false;
    this.device.stop();
    this.view.showLink({ kind: "elsewhere" }, Date.now());
  }

  /** Closes the connection for good; the page is not used any more. */
  close(): void {
    this.abort.abort();
    this.device.stop();
  }

  private onEvent(event: DeviceEvent): void {
    this.view.showLink(event, Date.now());
    if (event.kind !== "ended") return;
    this.running = false;
    if (event.end.reason === "refused")
      this.end("The gateway no longer knows this device. Pair it again.");
  }

  private isOn(tool: PageTool): boolean {
    return this.options.settings.get().switched[tool.name] ?? tool.onByDefault;
  }

  private offer(tool: PageTool): void {
    this.device.tool({
      ...tool.offer,
      name: tool.name,
      handler: (call) => tool.run(call, this.hands),
    });
  }

  private switchTool(name: string, on: boolean): void {
    const { settings, tools } = this.options;
    settings.set({ switched: { ...settings.get().switched, [name]: on } });
    const tool = tools.find((each) => each.name === name);
    if (on && tool) this.offer(tool);
    else this.device.removeTool(name);
  }

  private pauseOrResume(): void {
    this.options.settings.set({ paused: this.running });
    if (this.running) this.device.stop();
    else this.start();
  }

  private end(why: string | undefined): void {
    this.close();
    this.options.unpaired(why);
  }

  /** What the browser knows about the network and this page's life. */
  private listen(): void {
    const { signal } = this.abort;
    addEventListener("online", () => this.device.networkChanged(), { signal });
    // A page that is left closes its connection; the browser may keep it and show it again.
    addEventListener("pagehide", () => this.device.stop(), { signal });
    addEventListener("pageshow", (event) => event.persisted && this.start(), { signal });
    document.addEventListener(
      "visibilitychange",
      () => document.hidden || this.device.networkChanged(),
      { signal },
    );
    watchInstall((can) => this.view.showInstall(can), signal);
    void watchPresence((presence) => this.device.setPresence(presence), signal);
    const timer = setInterval(
      () => document.hidden || this.view.showActivity(this.activity, Date.now()),
      refreshMs,
    );
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }
}
