import { useEffect, useRef, useState } from "preact/hooks";

import { SafeText } from "@crab/web-shared/safe-text";
import { shortName } from "@crab/web-shared/words";

import { api } from "../store";
import { drawnAs, type StoredArtifact } from "./shapes";
import { t } from "./texts";

/** Whether an element was in view once. */
function useSeen(box: { readonly current: Element | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!box.current) return undefined;
    const watch = new IntersectionObserver((found) => {
      if (found.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return seen;
}

/** A picture, read once it is in view; of other types, and of what cannot be read, the type. */
export function Thumbnail({ artifact }: { readonly artifact: StoredArtifact }) {
  const box = useRef<HTMLDivElement>(null);
  const seen = useSeen(box);
  const [address, setAddress] = useState("");
  const type = drawnAs(artifact);
  useEffect(() => {
    if (!seen || type === undefined) return undefined;
    let made = "";
    let over = false;
    const read = async () => {
      const answer = await api.open(artifact.href);
      const bytes = await answer.arrayBuffer();
      if (over) return;
      made = URL.createObjectURL(new Blob([bytes], { type }));
      setAddress(made);
    };
    read().catch(() => undefined); // its type stands there instead
    return () => {
      over = true;
      URL.revokeObjectURL(made);
    };
  }, [seen, type, artifact.href]);
  return (
    <div class="thumbnail" ref={box}>
      {address ? (
        <img src={address} alt={t("picture", { tool: artifact.tool })} />
      ) : (
        <span class="quiet">
          <SafeText text={shortName(artifact.content_type)} />
        </span>
      )}
    </div>
  );
}
