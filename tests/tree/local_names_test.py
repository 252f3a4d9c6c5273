"""What is local to a file has a name that the files compiled with it do not have: eight or
more of a folder are one for the compiler (decision 0019), and which changes with every new file."""

import re
import unittest
from collections import defaultdict
from pathlib import Path

import check_functions

ROOT = Path(__file__).resolve().parents[2]
ALONE = re.compile(r"_(test|bench|fuzz)\.cpp$")
LOCAL = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
CONSTANT = re.compile(r"^(?:(?:constexpr|const|static|thread_local) )[^=;({]*?\b(k[A-Z]\w*)", re.M)
TYPE = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: :[^;{]*)? \{", re.M)
FUNCTION = re.compile(
    r"^(?!using|return|else|template)\w[\w:<>,&*\s]*?[\s&*](\w+)\(([^;{]*)\) \{", re.M
)


def locals_of(source: str) -> set[str]:
    """Names of constants and types, and names with parameters of functions, that a file keeps to
    itself."""
    code = check_functions.without_text("\n".join(LOCAL.findall(source)))
    found = set(CONSTANT.findall(code)) | set(TYPE.findall(code))
    for name, parameters in FUNCTION.findall(code):
        types = [
            re.sub(r"\s+\w+$", "", it.partition("=")[0].strip()) for it in parameters.split(",")
        ]
        found.add(f"{name}({', '.join(' '.join(it.split()) for it in types)})")
    return found


def twice(files: dict[str, str]) -> list[str]:
    """What more than one of these files has."""
    having = defaultdict(list)
    for file, source in sorted(files.items()):
        for name in locals_of(source):
            having[name].append(file)
    return sorted(f"{name}: {', '.join(in_)}" for name, in_ in having.items() if len(in_) > 1)


class LocalNamesTest(unittest.TestCase):
    maxDiff = None

    def test_no_two_files_of_a_folder_have_a_local_name_in_common(self) -> None:
        found = []
        for lists in sorted((ROOT / "src").rglob("CMakeLists.txt")):
            files = {
                path.name: path.read_text(encoding="utf-8")
                for path in lists.parent.glob("*.cpp")
                if not ALONE.search(path.name)
            }
            found += [f"{lists.parent.relative_to(ROOT)}: {name}" for name in twice(files)]
        self.assertEqual(found, [])

    def test_constants_types_and_functions_are_found(self) -> None:
        one = (
            "namespace {\nconstexpr int kMost = 1;\nstruct Place {\n};\nusing K = int;\n"
            "bool fits(const A& a, int b = 1) {\n}\nint only(int a) {\n}\n}  // namespace\n"
        )
        other = (
            "namespace {\nconstexpr std::array<int, 2> kMost{1, 2};\nclass Place final : B {\n};\n"
            "using K = char;\nbool fits(const A& of, int) {\n}\nint only(char a) {\n}\n"
            "}  // namespace\nconstexpr int kOutside = 1;\n"
        )
        self.assertEqual(
            twice({"a.cpp": one, "b.cpp": other}),
            ["Place: a.cpp, b.cpp", "fits(const A&, int): a.cpp, b.cpp", "kMost: a.cpp, b.cpp"],
        )


if __name__ == "__main__":
    unittest.main()
