import { Calls } from "./pages/calls";
import { Overview } from "./pages/overview";
import { SignIn } from "./pages/sign-in";
import { Tools } from "./pages/tools";
import { place } from "./place";
import { Shell } from "./shell";
import { who } from "./store";

function Page() {
  const page = place.value.get("page");
  if (page === "calls") return <Calls />;
  return page === "tools" ? <Tools /> : <Overview />;
}

/** The page stays below the sign-in card, so that nothing typed is lost when a session ends. */
export function App() {
  const now = who.value;
  if (now.state === "asking") return <p class="waiting">Signing in…</p>;
  if (now.state === "out" && !now.ended) return <SignIn error={now.error} />;
  return (
    <>
      <Shell>
        <Page />
      </Shell>
      {now.state === "out" && <SignIn error={now.error} over />}
    </>
  );
}
