"""Descriptions out of docstrings: the text, and what it says about each parameter."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Docstring"]

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Attributes|Returns?|Raises|Yields|Examples?):$")
_FIELD = re.compile(r"^:(param|parameter|arg)(?:\s+\S+)*?\s+(\w+):\s*(.*)$")
_OTHER_FIELD = re.compile(r"^:(returns?|rtype|raises?|type)\b")
_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


@dataclass
class Docstring:
    """The form is Google's (`Args:` and indented `name: text`) or that of `:param name: text`."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(owner: Any) -> Docstring:
        # not inspect.getdoc(): that of a base class describes something else
        source = inspect.cleandoc(getattr(owner, "__doc__", None) or "")
        found, text = Docstring(), []
        section, name = "", ""
        for line in source.splitlines():
            heading = _SECTION.match(line)
            parameter = _FIELD.match(line)
            if heading:
                section, name = heading[1], ""
            elif parameter:
                section, name = ":", parameter[2]
                found.parameters[name] = parameter[3]
            elif _OTHER_FIELD.match(line):
                section, name = "other", ""
            elif section and line and not line.startswith(" "):
                section, name = "", ""
                text.append(line)
            elif section:
                name = found._take(section, name, line)
            else:
                text.append(line)
        found.text = re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip()
        return found

    def _take(self, section: str, name: str, line: str) -> str:
        """One line of a section; the name of the parameter that it is about."""
        words = line.strip()
        if not words:
            return name
        if section in ("Args", "Arguments", "Parameters", "Attributes"):
            item = _ITEM.match(words)
            indent = len(line) - len(line.lstrip())
            if item and indent <= 4:
                self.parameters[item[1]] = item[2]
                return item[1]
        if name:
            self.parameters[name] = f"{self.parameters[name]} {words}".strip()
        return name
