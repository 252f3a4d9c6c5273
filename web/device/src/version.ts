const named = /<(?:script|link rel="stylesheet")[^>]*? (?:src|href)="\.\/(assets\/[^"]+)"/g;

/** The script and the style sheet that a page names. */
const filesOf = (page: string): string[] => [...page.matchAll(named)].map(([, file = ""]) => file);

/** Whether the gateway's page names other files than the one that runs. */
export const isOther = (running: readonly string[], page: string): boolean => {
  const files = filesOf(page);
  return files.length > 0 && [...files].sort().join() !== [...running].sort().join();
};

/** Asks the gateway whether it has another version of this page than the one that is open. */
export async function hasNewVersion(): Promise<boolean> {
  const answer = await fetch("./", { cache: "no-store" }).catch(() => undefined);
  if (!answer?.ok || answer.redirected) return false;
  const running = [...document.querySelectorAll("script[src], link[rel=stylesheet]")].map(
    (each) => (each.getAttribute("src") ?? each.getAttribute("href") ?? "").replace(/^\.\//, ""),
  );
  return isOther(running, await answer.text());
}
