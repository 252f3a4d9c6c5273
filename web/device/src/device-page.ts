import type {
  Answer,
  ConsentBook,
  Decision,
  Device,
  DeviceEvent,
  Presence,
  TokenSource,
  ToolCall,
} from "@crab/device";
import { toast } from "@crab/web-shared/toast";
import { signal } from "@preact/signals";

import { Activity } from "./activity.js";
import { type Link, linkAfter } from "./link.js";
import { watchPresence } from "./presence.js";
import { Questions } from "./questions.js";
import type { SettingsStore } from "./settings.js";
import { t } from "./strings/t.js";
import { type Hands, lackOf, type PageTool, type Run, type ToolName } from "./tools/page-tool.js";
import { callerName, toolTitle } from "./ui/words.js";
import { hasNewVersion } from "./version.js";

const graceMs = 2_000; // in which an answer can be taken back, before it counts
const leastLeftMs = 6_000; // of a call's time; with less an answer counts at once

export interface DevicePageOptions {
  readonly gateway: string;
  readonly token: string | TokenSource;
  readonly settings: SettingsStore;
  readonly tools: readonly PageTool[];
  /** The token is no longer valid (`lost`), or the person unpaired the device. */
  readonly unpaired: (lost: boolean) => void;
}

/** What answers calls. */
interface Work {
  readonly book: ConsentBook;
  readonly device: Device;
  readonly runs: Readonly<Record<ToolName, Run>>;
}

/** A paired browser at work: the device, the person's answers, and what the views show of both. */
export class DevicePage {
  readonly questions = new Questions();
  readonly link = signal<Link>({ state: "connecting" });
  readonly running = signal(false);
  readonly decisions = signal<readonly Decision[]>([]);
  readonly switched = signal<Readonly<Record<string, boolean>>>({});
  readonly name = signal("");
  readonly newVersion = signal(false);
  readonly activity: Activity;
  readonly calls = signal<Pick<Activity, "running" | "ended">>({
    running: () => [],
    ended: () => [],
  });
  /** The part of the page that answers calls could not be read. */
  readonly broken = signal(false);
  private readonly work: Promise<Work>;
  private readonly abort = new AbortController();

  constructor(readonly options: DevicePageOptions) {
    const { settings } = options;
    this.name.value = settings.get().name;
    this.switched.value = settings.get().switched;
    this.activity = new Activity(() => this.showCalls(), localStorage);
    this.work = this.readWork();
    this.work.catch(() => (this.broken.value = true));
    for (const tool of options.tools) if (this.isOn(tool)) this.offer(tool);
    this.showCalls();
    this.listen();
  }

  /** Answers calls from now on, unless the person has paused it. */
  start(): void {
    if (this.options.settings.get().paused) {
      this.link.value = { state: "paused" };
      return;
    }
    this.running.value = true;
    this.tell(({ device }) => device.start());
  }

  /** Another tab answers now. */
  yieldToOtherTab(): void {
    this.running.value = false;
    this.tell(({ device }) => {
      device.stop(); // which tells that it has ended
      this.link.value = { state: "elsewhere" };
    });
  }

  /** Closes the connection for good; the page is not used any more. */
  close(): void {
    this.abort.abort();
    this.tell(({ device }) => device.stop());
  }

  isOn(tool: PageTool): boolean {
    const { [tool.name]: chosen = tool.onByDefault } = this.switched.value;
    return chosen && lackOf(tool) === undefined;
  }

  switchTool(tool: PageTool, on: boolean): void {
    this.switched.value = { ...this.switched.value, [tool.name]: on };
    this.options.settings.set({ switched: this.switched.value });
    if (on) this.offer(tool);
    else this.tell(({ device }) => device.removeTool(tool.name));
  }

  forget(decision: Decision): void {
    this.tell(({ book }) => book.forget(decision));
    toast({ text: t("answer.forgotten", { tool: toolTitle(decision.tool) }) });
  }

  rename(name: string): void {
    this.name.value = name;
    this.options.settings.set({ name });
    this.tell(({ device }) => device.rename(name));
    toast({ text: t("name.saved", { name }) });
  }

  pauseOrResume(): void {
    const pause = this.running.value;
    this.options.settings.set({ paused: pause });
    if (pause) this.tell(({ device }) => device.stop());
    else this.start();
  }

  tryNow(): void {
    this.tell(({ device }) => device.networkChanged());
  }

  unpair(): void {
    this.end(false);
  }

  /** What answers calls: a part of the page that is read while this one is shown. */
  private async readWork(): Promise<Work> {
    const { ConsentBook, Device, runs, storedDecisions } = await import("./answering.js");
    const book = new ConsentBook({
      ask: (call) => this.ask(call),
      store: storedDecisions(localStorage, "crab.consent"),
      changed: () => (this.decisions.value = book.list()),
    });
    this.decisions.value = book.list();
    const device = new Device({
      gateway: this.options.gateway,
      token: this.options.token,
      name: this.name.value,
      consent: (call) => {
        this.activity.wants(call.id, call.args);
        return book.consent(call);
      },
      onCall: (news) => {
        this.activity.onCall(news);
        if (news.phase === "running") this.tellOfRemembered(news.id);
      },
      onEvent: (event) => this.onEvent(event),
    });
    return { book, device, runs };
  }

  /** Once that part is there, and in the order of these. */
  private tell(what: (work: Work) => void): void {
    void this.work.then(what, () => undefined);
  }

  /** Asks until an answer stands: each can be taken back for a moment. */
  private async ask(call: ToolCall): Promise<Answer> {
    this.activity.asked(call.id);
    for (;;) {
      const answer = await this.questions.consent(call);
      if (call.signal.aborted || !(await takenBack(call, answer))) return answer;
    }
  }

  private onEvent(event: DeviceEvent): void {
    this.link.value = linkAfter(this.link.value, event, Date.now());
    if (event.kind === "connected") void this.lookForNewVersion();
    if (event.kind !== "ended") return;
    this.running.value = false;
    if (event.end.reason === "refused") this.end(true);
  }

  private async lookForNewVersion(): Promise<void> {
    if (await hasNewVersion()) this.newVersion.value = true;
  }

  private tellOfRemembered(callId: string): void {
    const entry = this.activity.running().find(({ id }) => id === callId);
    if (!entry?.remembered) return;
    const who = callerName(entry.caller);
    toast({ text: t("call.ran", { who, tool: toolTitle(entry.tool) }) });
  }

  private showCalls(): void {
    const [running, ended] = [this.activity.running(), this.activity.ended()];
    this.calls.value = { running: () => running, ended: () => ended };
    document.title = running.length > 0 ? `(${running.length}) crab device` : "crab device";
  }

  private offer(tool: PageTool): void {
    const hands: Hands = {
      tap: (of, what) => this.questions.tap(of, what),
      gave: (of, given) => this.activity.gave(of.id, given),
    };
    this.tell(({ device, runs }) =>
      device.tool({
        ...tool.offer,
        name: tool.name,
        handler: (call) => runs[tool.name](call, hands),
      }),
    );
  }

  private end(lost: boolean): void {
    this.close();
    this.options.unpaired(lost);
  }

  /** What the browser knows about the network and this page's life. */
  private listen(): void {
    const { signal: until } = this.abort;
    addEventListener("online", () => this.tryNow(), { signal: until });
    // A page that is left closes its connection; the browser may keep it and show it again.
    addEventListener("pagehide", () => this.tell(({ device }) => device.stop()), { signal: until });
    addEventListener("pageshow", (event) => event.persisted && this.start(), { signal: until });
    document.addEventListener(
      "visibilitychange",
      () => document.hidden || this.tryNow(),
      { signal: until },
    );
    navigator.serviceWorker?.addEventListener(
      "message",
      ({ data }: MessageEvent<{ kind?: unknown; call?: unknown }>) => {
        if (data.kind === "wake") this.tryNow();
        if (data.kind === "refuse" && typeof data.call === "string")
          this.questions.refuse(data.call);
      },
      { signal: until },
    );
    const present = (now: Presence) => this.tell(({ device }) => device.setPresence(now));
    void watchPresence(present, until);
  }
}

/** Offers to take an answer back; true if the person does, false once it counts. */
function takenBack(call: ToolCall, answer: Answer): Promise<boolean> {
  if (call.deadline - Date.now() < leastLeftMs) return Promise.resolve(false);
  return new Promise((done) => {
    const settle = (back: boolean) => {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", stands);
      close();
      done(back);
    };
    const stands = () => settle(false);
    const said = answer === "no" || answer === "never" ? "after.refused" : "after.allowed";
    const close = toast({
      text: t(said, { tool: toolTitle(call.tool) }),
      undo: () => settle(true),
      stays: Infinity,
    });
    const timer = setTimeout(stands, graceMs);
    call.signal.addEventListener("abort", stands, { once: true });
  });
}
