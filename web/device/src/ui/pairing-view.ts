import { codeFromLink, PairingError } from "@crab/device";

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { mark } from "./mark.js";

/** `BarcodeDetector` is not in the type library yet. */
type Detector = new (options: { formats: string[] }) => {
  detect(image: HTMLVideoElement): Promise<Array<{ rawValue: string }>>;
};

/** The first view: a code from the operator makes this browser a device. */
export class PairingView {
  readonly element: HTMLElement;
  private readonly code: HTMLInputElement;
  private readonly name: HTMLInputElement;
  private readonly button: HTMLButtonElement;
  private readonly message = h("p", { class: "message", role: "alert" });

  constructor(
    private readonly options: {
      gateway: string;
      name: string;
      code: string | undefined;
      notice: string | undefined;
      pair: (code: string, name: string) => Promise<void>;
    },
  ) {
    this.code = h("input", {
      id: "code",
      class: "code",
      inputmode: "numeric",
      autocomplete: "one-time-code",
      placeholder: "0000-0000-0000",
      maxlength: 14,
      required: true,
      "aria-describedby": "code-hint",
      value: options.code ?? "",
      oninput: () => this.onInput(),
    });
    this.name = h("input", {
      id: "name",
      value: options.name,
      maxlength: 60,
      required: true,
      autocomplete: "off",
    });
    this.button = h("button", { class: "button primary", type: "submit" }, "Pair this device");
    const scan =
      "BarcodeDetector" in window &&
      navigator.mediaDevices?.getUserMedia !== undefined &&
      h(
        "button",
        { class: "button plain", type: "button", onclick: () => void this.scan() },
        icon("scan"),
        "Scan the QR code",
      );
    this.element = h(
      "main",
      { class: "pairing" },
      h(
        "div",
        { class: "pairing-card" },
        mark("pairing-mark"),
        h("h1", {}, "Lend a hand to your agents"),
        h(
          "p",
          { class: "lead" },
          "Pair this browser, and agents can ask it for a photo, a place or a vibration. You " +
            "decide each time, and no is no.",
        ),
        options.notice !== undefined && h("p", { class: "notice", role: "status" }, options.notice),
        h(
          "form",
          {
            onsubmit: (event) => {
              event.preventDefault();
              void this.submit();
            },
          },
          h("label", { for: "code" }, "Pairing code"),
          this.code,
          h(
            "p",
            { id: "code-hint", class: "quiet" },
            "From ",
            h("kbd", {}, "crab devices pair --qr"),
            " on the gateway. It works once, for five minutes.",
          ),
          h("label", { for: "name" }, "Name of this device"),
          this.name,
          this.message,
          h("div", { class: "pairing-actions" }, this.button, scan),
        ),
        h(
          "p",
          { class: "pairing-host quiet" },
          "Gateway: ",
          h("strong", {}, new URL(options.gateway).host),
        ),
      ),
    );
  }

  focus(): void {
    (this.options.code ? this.button : this.code).focus();
  }

  private onInput(): void {
    const digits = this.code.value.replace(/\D/g, "").slice(0, 12);
    const grouped = digits.replace(/(\d{4})(?=\d)/g, "$1-");
    // not while the middle is being edited
    if (this.code.selectionStart === this.code.value.length) this.code.value = grouped;
  }

  private async submit(): Promise<void> {
    this.message.textContent = "";
    this.button.disabled = true;
    try {
      await this.options.pair(this.code.value, this.name.value.trim() || this.options.name);
    } catch (thrown) {
      this.message.textContent = thrown instanceof PairingError ? whatToDo(thrown) : String(thrown);
      this.code.select();
    } finally {
      this.button.disabled = false;
    }
  }

  /** Looks through the camera until there is a code. */
  private async scan(): Promise<void> {
    const Detector = (window as unknown as { BarcodeDetector: Detector }).BarcodeDetector;
    const detector = new Detector({ formats: ["qr_code"] });
    const video = h("video", {
      class: "scanner",
      playsinline: true,
      muted: true,
      "aria-label": "The camera's view",
    });
    const stop = h("button", { class: "button plain", type: "button" }, "Stop");
    const dialog = h("dialog", { class: "ask" }, video, stop);
    fill(dialog, video, stop);
    document.body.append(dialog);
    dialog.showModal();
    let stream: MediaStream | undefined;
    try {
      stream = await navigator.mediaDevices.getUserMedia({
        video: { facingMode: { ideal: "environment" } },
      });
      video.srcObject = stream;
      await video.play();
      stop.addEventListener("click", () => dialog.close());
      while (dialog.open) {
        const code = (await detector.detect(video))
          .map((found) => codeFromLink(found.rawValue))
          .find((found) => found !== undefined);
        if (code !== undefined) {
          this.code.value = code;
          break;
        }
        await new Promise((next) => requestAnimationFrame(next));
      }
    } catch {
      this.message.textContent = "The camera cannot be used; type the code instead.";
    } finally {
      for (const track of stream?.getTracks() ?? []) track.stop();
      dialog.close();
      dialog.remove();
      this.focus();
    }
  }
}

function whatToDo(failure: PairingError): string {
  switch (failure.reason) {
    case "wrong":
      return "That is not the code. Look again: twelve digits.";
    case "none_open":
      return "No code is open at the gateway. Make one with: crab devices pair --qr";
    case "slow_down":
      return `Too many tries. Wait ${Math.ceil(failure.retryAfterMs / 1000)} seconds.`;
    case "unreachable":
      return `The gateway does not answer as it should: ${failure.message}`;
  }
}
