"""scripts/check_symbols.py sees in object files what sources hide."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import check_symbols

# Each hides a name from whoever reads the source.
PLANTS = {
    "fopen": """#include <cstdio>
#define GLUE(a, b) a##b
auto* get() { return &GLUE(fo, pen); }
""",
    "connect": """extern "C" int connect(int, const void*, unsigned);
template <class F> int use(F f) { return f(1, nullptr, 0); }
int get() { return use(connect); }
""",
    "fork": """extern "C" int aside() __asm__("fork");
int get() { return aside(); }
""",
}


class CheckSymbolsTest(unittest.TestCase):
    def undefined_of(self, code: str) -> set[str]:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "a.cpp")
            source.write_text(code)
            out = Path(folder, "a.o")
            compiler = os.environ.get("CXX", "c++")
            subprocess.run([compiler, "-O2", "-c", source, "-o", out], check=True)
            return check_symbols.undefined([out])

    def test_hidden_calls_are_found_in_objects(self) -> None:
        for name, code in PLANTS.items():
            with self.subTest(name=name):
                self.assertEqual(
                    check_symbols.refused("core/call", self.undefined_of(code)), [name]
                )

    def test_files_of_std_are_found(self) -> None:
        code = "#include <fstream>\nvoid f() { std::ifstream in(\"x\"); in.get(); }\n"
        self.assertNotEqual(check_symbols.refused("json", self.undefined_of(code)), [])

    def test_other_spellings_of_the_library_are_known(self) -> None:
        spelled = ["open64", "__open64_2", "__read_chk", "stat64", "fopen64"]
        self.assertEqual(check_symbols.refused("trust", spelled), sorted(spelled))

    def test_a_folder_without_sockets_may_touch_files(self) -> None:
        self.assertEqual(check_symbols.refused("config", ["open", "fork"]), [])
        self.assertEqual(check_symbols.refused("config", ["connect"]), ["connect"])

    def test_what_one_file_is_allowed_is_allowed_to_no_other_folder(self) -> None:
        self.assertEqual(check_symbols.refused("base", ["write", "memcpy"]), [])
        self.assertEqual(check_symbols.refused("json", ["write", "memcpy"]), ["write"])


if __name__ == "__main__":
    unittest.main()
