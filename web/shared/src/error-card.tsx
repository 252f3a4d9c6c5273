import { Component, type ComponentChildren } from "preact";

import { Button } from "./button";
import { CopyButton } from "./copy-button";
import "./error-card.css";
import { SafeText } from "./safe-text";
import { t } from "./strings/kit";

/** What a refusal says: a code, the gateway's sentence, what to do next. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly next?: string;
}

export const refusalText = ({ code, message, next }: Refusal): string =>
  [`${code}: ${message}`, next].filter(Boolean).join("\n");

interface Props {
  readonly error: Refusal;
  readonly onRetry?: (() => void) | undefined;
  readonly children?: ComponentChildren;
}

export function ErrorCard({ error, onRetry, children }: Props) {
  return (
    <div class="error-card" role="alert">
      <p>
        <strong>
          <SafeText text={error.code} most={60} />
        </strong>{" "}
        <SafeText text={error.message} />
      </p>
      {error.next && (
        <p>
          <SafeText text={error.next} />
        </p>
      )}
      {children}
      <div class="error-card-actions">
        {onRetry && (
          <Button small onPress={onRetry}>
            {t("error.retry")}
          </Button>
        )}
        <CopyButton text={refusalText(error)}>{t("error.copy")}</CopyButton>
      </div>
    </div>
  );
}

interface Caught {
  readonly error?: unknown;
}

/** Draws an error in place of what could not be drawn, and leaves the rest of the page alone. */
export class Guard extends Component<{ readonly children: ComponentChildren }, Caught> {
  override state: Caught = {};

  static override getDerivedStateFromError(error: unknown): Caught {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const next = error instanceof Error ? error.message : String(error);
    return (
      <ErrorCard
        error={{ code: "PAGE_ERROR", message: t("error.render"), next }}
        onRetry={() => this.setState({ error: undefined })}
      />
    );
  }
}
