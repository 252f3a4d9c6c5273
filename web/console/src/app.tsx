import { LiveRegions } from "@crab/web-shared/live";
import { Guard } from "@crab/web-shared/error-card";
import { Toasts } from "@crab/web-shared/toast";

import { useStream } from "./live/use-live";
import { Overview } from "./pages/overview";
import { SignIn } from "./pages/sign-in";
import { place } from "./place";
import { routeOf } from "./routes";
import { Shell } from "./shell";
import { chatsOnly, who } from "./store";
import { t } from "./strings/shell";

/** The page stays below the sign-in card, so that nothing typed is lost when a session ends. */
export function App() {
  const now = who.value;
  useStream();
  if (now.state === "asking") return <p class="waiting">{t("signin.now")}</p>;
  if (now.state === "out" && !now.ended) return <SignIn error={now.error} />;
  const wanted = chatsOnly.value ? "chat" : place.value.get("page");
  const { page, view: View } = routeOf(wanted) ?? { page: "", view: Overview };
  return (
    <>
      <Shell>
        <Guard key={page}>
          <View />
        </Guard>
      </Shell>
      {now.state === "out" && <SignIn error={now.error} over />}
      <Toasts />
      <LiveRegions />
    </>
  );
}
