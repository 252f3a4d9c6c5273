"""The parts of the log (src/base/log_part.hpp) are the folders of src/ that have sources."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class LogPartsTest(unittest.TestCase):
    def test_every_folder_is_a_part(self) -> None:
        header = (ROOT / "src/base/log_part.hpp").read_text(encoding="utf-8")
        listed = re.search(r"kParts\{\s*\{?(.*?)\}", header, re.DOTALL)
        assert listed is not None
        folders = {
            str(file.parent.relative_to(ROOT / "src"))
            for ending in ("cpp", "hpp")
            for file in (ROOT / "src").rglob(f"*.{ending}")
        }
        self.assertEqual(re.findall(r'"([^"]+)"', listed[1]), sorted(folders))


if __name__ == "__main__":
    unittest.main()
