import { Calls } from "./pages/calls";
import { Overview } from "./pages/overview";
import { SignIn } from "./pages/sign-in";
import { place } from "./place";
import { Shell } from "./shell";
import { who } from "./store";

/** The page stays below the sign-in card, so that nothing typed is lost when a session ends. */
export function App() {
  const now = who.value;
  if (now.state === "asking") return <p class="waiting">Signing in…</p>;
  if (now.state === "out" && !now.ended) return <SignIn error={now.error} />;
  return (
    <>
      <Shell>
        {place.value.get("page") === "calls" ? <Calls /> : <Overview />}
      </Shell>
      {now.state === "out" && <SignIn error={now.error} over />}
    </>
  );
}
