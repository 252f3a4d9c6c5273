"""axe-core in a page that is driven: what of it people with assistive technology cannot use."""

from __future__ import annotations

import json
from pathlib import Path

from .browser import Browser

_SCRIPT = Path(__file__).parents[3] / "node_modules/axe-core/axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def missing() -> str:
    """Why it cannot be asked, as a reason to skip; empty when it can."""
    return "" if _SCRIPT.exists() else "not installed: axe-core; npm ci installs it"


def violations(page: Browser) -> list[str]:
    """One line for each kind of violation on the page as it is now: rule, element, what is
    wrong."""
    if not page.run("return typeof window.axe === 'object'"):
        # By the debugger, since the page's policy runs no script of others.
        page.devtools("Runtime.evaluate", expression=_SCRIPT.read_text(encoding="utf-8"))
    options = json.dumps({"runOnly": _RULES, "resultTypes": ["violations"]})
    answer = page.devtools(
        "Runtime.evaluate",
        expression=f"axe.run(document, {options}).then(found => found.violations)",
        awaitPromise=True,
        returnByValue=True,
    )
    return [
        f"{found['id']}: {found['help']}: {found['nodes'][0]['html'][:160]}"
        for found in answer["result"]["value"]
    ]
