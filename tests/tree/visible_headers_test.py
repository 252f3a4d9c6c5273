"""What a module may not include, it cannot: its own compile command does not find the header. And
the precompiled header, which every file of it has, holds nothing that the module could not include.

The compile commands are those of CRAB_BUILD, which has to be built.
"""

import json
import os
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["CRAB_BUILD"])


def command_of(module: str) -> list[str]:
    """How a file of the module is compiled, up to the names of the file and its object."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        if f"/crab_{module}.dir/" in entry["command"]:
            words = shlex.split(entry["command"])
            return words[: words.index("-o")]
    raise LookupError(f"no file of crab_{module} in {BUILD}/compile_commands.json")


def compile_as(module: str, text: str) -> str:
    """What the compiler says of a file of this module; nothing when it compiles."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probe.cpp"
        file.write_text(text + "\n", encoding="utf-8")
        words = [*command_of(module), "-fsyntax-only", str(file)]
        done = subprocess.run(words, cwd=BUILD, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


class VisibleHeadersTest(unittest.TestCase):
    def test_a_module_finds_the_headers_that_its_row_permits(self) -> None:
        for module, header in (
            ("base", "base/result.hpp"),
            ("core_call", "core/call/call.hpp"),
            ("core_call", "base/task/task.hpp"),
            ("rtp_calls", "net/http/http_exchange.hpp"),
        ):
            with self.subTest(module=module, header=header):
                self.assertEqual(compile_as(module, f'#include "{header}"'), "")

    def test_a_module_does_not_find_the_others(self) -> None:
        for module, header in (
            ("base", "base/task/task.hpp"),
            ("json", "core/call/call.hpp"),
            ("core_call", "net/http/route.hpp"),
            ("core_pipeline", "store/sqlite/database.hpp"),
            ("rtp_calls", "adapters/clawseed/front.hpp"),
            ("clawseed", "adapters/sw4rm/front.hpp"),
            ("store_sqlite", "net/loop/event_loop.hpp"),
            ("cli", "gateway/gateway.hpp"),
        ):
            with self.subTest(module=module, header=header):
                self.assertIn("file not found", compile_as(module, f'#include "{header}"'))

    def test_std_and_fmt_are_precompiled_for_all(self) -> None:
        self.assertEqual(compile_as("base", 'auto text = fmt::format("{}", std::string());'), "")

    def test_no_module_leans_on_what_others_have_precompiled(self) -> None:
        for module, text in (
            ("base", "boost::asio::io_context* loop;"),
            ("base", "simdjson::dom::element* element;"),
            ("crypto", "boost::asio::io_context* loop;"),
            ("json", "boost::asio::io_context* loop;"),
            ("net_loop", "simdjson::dom::element* element;"),
            ("core_call", "boost::asio::posix::stream_descriptor* socket;"),
            ("core_pipeline", "boost::asio::ip::tcp::socket* socket;"),
            ("gateway", "testing::Test* test;"),
        ):
            with self.subTest(module=module, text=text):
                self.assertRegex(compile_as(module, text), "undeclared identifier|no member named")
