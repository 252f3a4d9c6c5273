"""What is promised (docs/reference/stability.md) is there as spec/stable/ has it, and the check
finds what it is there to find."""

import os
import tempfile
import unittest
from pathlib import Path

import stable_api
from stable_api import HeaderFacts, breaks, schema_facts

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CRAB_BUILD", ROOT / "build/dev"))
HEADER = """
// A comment; with { braces
namespace crab {
class Later;
struct Options {
    enum class Kind : int { kA, kB };
    std::string url = "ws://host;{";  ///< where
    Kind kind{};
    std::function<bool(int)> on_end{};
    bool good() const { return url.empty(); }
};
class Thing {
public:
    explicit Thing(Options options) : options_(std::move(options)) {}
    int run(int times = 1);
private:
    void hidden();
    class Impl;
    Options options_;
};
}
"""


class StableApiTest(unittest.TestCase):
    def test_nothing_that_is_recorded_is_gone(self) -> None:
        for part, facts in stable_api.PARTS.items():
            if part == "typescript" and not (BUILD / "web/package/index.d.ts").exists():
                continue  # a build without pages
            with self.subTest(part):
                recorded = stable_api.recorded(part)
                self.assertGreater(len(recorded), 50)
                self.assertEqual(breaks(recorded, facts(BUILD)), [])

    def test_every_recorded_file_has_a_row_on_the_page(self) -> None:
        page = (ROOT / "docs/reference/stability.md").read_text(encoding="utf-8")
        for file in (ROOT / "spec/stable").iterdir():
            self.assertIn(f"spec/stable/{file.name}", page)

    def test_what_is_gone_and_what_is_newly_demanded_are_breaks(self) -> None:
        before = {"crab a", "crab b", "must crab a argument 1", "listen.tls object"}
        self.assertEqual(breaks(before, before | {"crab c"}), [])
        self.assertEqual(breaks(before, before - {"must crab a argument 1"}), [])
        self.assertEqual(breaks(before, before - {"crab b"}), ["gone: crab b"])
        for demand in ("must crab b argument 1", "must listen.tls.cert"):
            self.assertEqual(breaks(before, before | {demand}), [f"new: {demand}"])

    def test_what_is_new_may_demand_what_it_likes(self) -> None:
        before = {"crab.pair parameter 0 code", "listen.tls object", "crab a"}
        new = {
            "crab.pair_key parameter 0 code",
            "must crab.pair_key parameter code",
            "push.contact string",
            "must push.contact",
            "crab ab",
            "must crab ab argument 1",
        }
        self.assertEqual(breaks(before, before | new), [])

    def test_a_header_gives_what_its_users_see(self) -> None:
        reader = HeaderFacts()
        reader.read(HEADER)
        self.assertEqual(
            reader.facts,
            {
                "struct crab::Options",
                "crab::Options::Kind::kA",
                "crab::Options::Kind::kB",
                'crab::Options [0] std::string url = "ws://host;{"',
                "crab::Options [1] Kind kind{}",
                "crab::Options [2] std::function<bool(int)> on_end{}",
                "crab::Options bool good() const",
                "class crab::Thing",
                "crab::Thing explicit Thing(Options options)",
                "crab::Thing int run(int times = 1)",
            },
        )

    def test_a_schema_tells_demands_from_promises(self) -> None:
        schema = {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"enum": ["x"], "type": "string"}, "b": {"default": 1}},
        }
        given = set(schema_facts(schema, "s", True, {}))
        self.assertEqual(
            given,
            {"s object", "must s.a", "s.a string", 's.a may be "x"', "s.b any", "s.b default 1"},
        )
        self.assertIn("s.a always", set(schema_facts(schema, "s", False, {})))

    def test_declarations_are_followed_to_where_they_stand(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            package = Path(folder, "web/package")
            for name, text in {
                "index.d.ts": 'export { type A, B } from "./a.js";\n',
                "a.d.ts": "export interface A<T> {\n    one: T;\n}\nexport declare class B {\n"
                "    #private;\n    private x;\n    run(how: { a: 1; }): void;\n}\n"
                "interface Hidden {\n    no: 1;\n}\n",
                "client/index.d.ts": "export type C = 1 | 2;\n",
                "host/index.d.ts": "export declare const d: readonly string[];\n",
                "node/index.d.ts": "export declare function e(): void;\n",
            }.items():
                (package / name).parent.mkdir(parents=True, exist_ok=True)
                (package / name).write_text(text, encoding="utf-8")
            self.assertEqual(
                stable_api.typescript(Path(folder)),
                {
                    "@crab/device interface A<T>",
                    "@crab/device A.one: T",
                    "@crab/device class B",
                    "@crab/device B.run(how: { a: 1; }): void",
                    "@crab/device/client type C = 1 | 2",
                    "@crab/device/host const d: readonly string[]",
                    "@crab/device/node function e(): void",
                },
            )


if __name__ == "__main__":
    unittest.main()
