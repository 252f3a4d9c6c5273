/** What fixes a check of a diagnosis that fails. */
export interface Fix {
  readonly kind: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export const param = (fix: Fix, name: string): string => {
  const value = fix.params?.[name];
  return typeof value === "string" ? value : "";
};

/** The pages that help, by the kind of a fix. */
export const PAGES: Readonly<Record<string, string>> = {
  pair: "devices",
  connect: "devices",
  policy: "policy",
  config: "settings",
};

/** What the page is to show: a question to the policy, such as `call sms.send`, in its parts. */
export function placeOf(fix: Fix): Record<string, string> {
  if (fix.kind !== "policy") return {};
  const [kind = "", ...rest] = param(fix, "question").split(" ");
  return {
    as: param(fix, "as"),
    tool: rest.join(" "),
    ...(kind !== "call" && { kind }),
  };
}
