"""scripts/check_functions.py finds long functions and long parameter lists, and takes reasons."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import check_functions

SEVEN = "int a, int b, int c, int d, int e, int f, int g"


def body(lines: int) -> str:
    """A body of so many lines, the braces' included."""
    return "{\n" + "    work();\n" * (lines - 2) + "}\n"


class CheckFunctionsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def said_of(self, text: str, name: str = "src/a.cpp") -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            status = check_functions.main([str(self.root)])
        path.unlink()
        self.assertEqual(status, 1 if said.getvalue() else 0)
        return said.getvalue()

    def test_sixty_lines_are_good_and_one_more_is_named(self) -> None:
        self.assertEqual(self.said_of("void work() " + body(60)), "")
        said = self.said_of("\nvoid work() " + body(61))
        self.assertEqual(said, "src/a.cpp:2: a function of 61 lines, and 60 are the most\n")

    def test_every_form_of_function_is_found(self) -> None:
        for head in (
            "void work() ",
            "TEST_F(WorkTest, Works) ",
            "Task<Result<void>> Worker::run(Call call, Sink& sink) const ",
            "template <class T>\n    requires std::is_integral_v<T>\nT Worker::get(T given) ",
            "Worker::Worker(int a) : a_(a), b_{1, 2}, c_(other(a)) ",
            "Worker::~Worker() ",
            "bool Worker::operator()(int a) const noexcept ",
            "bool operator==(const A& a, const A& b) ",
            "struct flock whole_file() ",
            'extern "C" int LLVMFuzzerTestOneInput(const char* bytes, std::size_t size) ',
            "auto work(int a) -> std::vector<int> ",
            "[[nodiscard]] int work(std::vector<int> given = {}) ",
            "const auto work = [](int a) ",
        ):
            with self.subTest(head=head):
                self.assertIn("a function of 61 lines", self.said_of(head + body(61)))

    def test_a_method_in_its_class_is_found_and_the_class_is_none(self) -> None:
        head = "namespace a {\nclass B final : public C<int(int)> {\npublic:\n    "
        self.assertEqual(self.said_of(head + "void work() " + body(60) + "};\n}\n"), "")
        said = self.said_of(head + "    B() " + body(3) + "    void work() " + body(61) + "};\n}\n")
        self.assertIn("src/a.cpp:7: a function of 61 lines", said)

    def test_tables_and_brackets_in_text_are_no_functions(self) -> None:
        table = "constexpr std::array kRows = {\n" + '    row("{", 1\'000, \'}\'),\n' * 80 + "};\n"
        self.assertEqual(self.said_of(table), "")
        text = 'const char* const kText = R"(\n' + "void work() {\n" * 80 + ')";\n'
        self.assertEqual(self.said_of(text + "// {\n/* ( */\nvoid work() " + body(5)), "")

    def test_lines_of_python_are_counted_too(self) -> None:
        text = "def work():\n" + "    pass\n" * 59
        self.assertEqual(self.said_of(text, "tests/a.py"), "")
        said = self.said_of("\n" + text + "    pass\n", "tests/a.py")
        self.assertIn("tests/a.py:2: a function of 61 lines", said)
        reason = "# long: one table of cases\n"
        self.assertEqual(self.said_of(reason + text + "    pass\n", "tests/a.py"), "")

    def test_no_folder_is_forgotten_and_a_script_needs_no_ending(self) -> None:
        text = "def work():\n" + "    pass\n" * 60
        for name in ("a.py", "cmake/pch/a.py", "anything/new/a.py"):
            with self.subTest(name=name):
                self.assertIn(f"{name}:1: a function of 61 lines", self.said_of(text, name))
        script = "#!/usr/bin/env python3\n" + text
        self.assertIn("bench/run:2: a function of 61 lines", self.said_of(script, "bench/run"))
        self.assertEqual(self.said_of("#!/bin/sh\n" + text, "bench/run"), "")

    def test_six_parameters_are_good_and_one_more_is_named(self) -> None:
        self.assertEqual(self.said_of(f"void work({SEVEN[:-7]}) {{}}\n"), "")
        for text in (
            f"void work({SEVEN}) {{}}\n",
            f"class A {{\n    A({SEVEN}) : a_(a) {{}}\n}};\n",
            f"bool A::operator()({SEVEN}) const {{}}\n",
            f"void work() {{\n    call([&]({SEVEN}) {{}});\n}}\n",
        ):
            with self.subTest(text=text):
                self.assertIn("7 parameters, and 6 are the most", self.said_of(text))

    def test_commas_inside_a_parameter_are_not_counted(self) -> None:
        text = (
            "void work(std::map<int, std::pair<int, int>> a, F<int(int, int)> b, int c = g(1, 2),"
        )
        self.assertEqual(self.said_of(text + " std::array<int, 3> d = {1, 2, 3}) {}\n"), "")

    def test_a_declaration_is_judged_where_it_is_defined(self) -> None:
        self.assertEqual(self.said_of(f"void work({SEVEN});\n", "src/a.hpp"), "")

    def test_a_reason_above_it_or_on_its_line_is_taken(self) -> None:
        for text in (
            "// long: one table, and a row is a case\nvoid work() " + body(61),
            "/// What it does.\n// long: one table, and a row is a case\nvoid work() " + body(61),
            "void work() {  // long: one table, and a row is a case\n" + body(61)[2:],
            f"// parameters: the library's callback has them\nvoid work({SEVEN}) {{}}\n",
        ):
            with self.subTest(text=text[:60]):
                self.assertEqual(self.said_of(text), "")

    def test_an_exception_without_a_reason_or_for_the_other_rule_is_refused(self) -> None:
        self.assertIn("gives no reason", self.said_of("// long:\nvoid work() " + body(61)))
        self.assertIn("gives no reason", self.said_of("// long: is\nvoid work() " + body(61)))
        said = self.said_of("// parameters: the library has them\nvoid work() " + body(61))
        self.assertIn("a function of 61 lines", said)

    def test_an_exception_that_nothing_needs_is_refused(self) -> None:
        said = self.said_of("// long: it was once\nvoid work() " + body(60))
        self.assertIn("src/a.cpp:1: an exception that no function here needs", said)

    def test_what_was_generated_or_is_not_ours_is_left_alone(self) -> None:
        text = "void work() " + body(61)
        self.assertEqual(self.said_of("// Made by scripts/a.py: edit that.\n" + text), "")
        self.assertEqual(self.said_of(text, "clients/a/node_modules/b.cpp"), "")
        self.assertEqual(self.said_of(text, "build/dev/a.cpp"), "")
        self.assertIn("clients/a/b.cpp:1:", self.said_of(text, "clients/a/b.cpp"))


if __name__ == "__main__":
    unittest.main()
