import { api } from "./store";

/** Gives the person a file; its bytes never become a document of this page. */
export function save(bytes: Blob, name: string): void {
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser reads it after the click
}

/** Reads a file of the gateway and gives it to the person. Errors: as `api.open`. */
export async function download(path: string, name: string): Promise<void> {
  const answer = await api.open(path);
  save(await answer.blob(), name);
}
