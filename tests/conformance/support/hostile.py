"""Texts that somebody wrote to be read as something else, and what a page must not make of them."""

from __future__ import annotations

import json
from pathlib import Path

from .browser import Browser

_ROOT = Path(__file__).parents[3]
_FILE = _ROOT / "web/shared/test/hostile.json"


def texts() -> list[str]:
    """All two hundred, with floods as long as they are."""
    groups = json.loads(_FILE.read_text(encoding="utf-8"))
    return [
        entry if isinstance(entry, str) else entry["text"] * entry["times"]
        for group in groups.values()
        for entry in group
    ]


def sendable() -> list[str]:
    """Those that are UTF-8, which halves of characters are not."""
    return [text for text in texts() if not any("\ud800" <= one <= "\udfff" for one in text)]


# In front of the page's own scripts.
_GUARD = """
window.crabHarm = [];
for (const name of ["alert", "confirm", "prompt", "print", "open"])
    window[name] = (...said) => window.crabHarm.push(`${name}(${said})`);
addEventListener("securitypolicyviolation", event =>
    window.crabHarm.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
addEventListener("error", event => window.crabHarm.push(`error: ${event.message}`));
addEventListener("unhandledrejection", event => window.crabHarm.push(`error: ${event.reason}`));
"""

#: What became of the texts on the page as it is now, if it is anything but text.
_HARMS = r"""
const harms = [...window.crabHarm];
const told = (what, element) => harms.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
const STRANGE = "script, iframe, frame, object, embed, style, link, meta, base, template, video, "
    + "audio, math, marquee, foreignObject, slot, body body, [srcdoc]";
for (const element of document.body.querySelectorAll(STRANGE)) told("an element", element);
// Text that moves, hides or forges what stands around it; the page's own isolates are none.
const UNSEEN = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f"
    + "\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2067\\u206a-\\u206f\\u3164\\ufeff"
    + "\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]", "u");
const SEEN = ["aria-label", "title", "alt", "placeholder", "aria-description"];
const safe = address => address.startsWith("?") || address.startsWith("blob:")
    || ["http:", "https:"].includes(new URL(address, location.href).protocol);
for (const element of document.body.querySelectorAll("*")) {
    for (const {name, value} of element.attributes) {
        if (/^on/i.test(name)) told(`attribute ${name}`, element);
        if (/^(href|src|action|formaction|xlink:href|data|poster)$/.test(name) && !safe(value))
            told(`address ${value}`, element);
        if (name === "class" && !/^[\w -]*$/.test(value)) told(`class ${value}`, element);
        if (SEEN.includes(name) && UNSEEN.test(value)) told(`unseen in ${name}`, element);
    }
    if (element.matches("textarea")) continue;
    for (const node of element.childNodes)
        if (node.nodeType === Node.TEXT_NODE && UNSEEN.test(node.data)) told("unseen", element);
}
if (UNSEEN.test(document.title)) harms.push(`title ${document.title}`);
const broken = document.body.innerText.includes("PAGE_ERROR");
if (broken) harms.push(`not drawn: ${document.querySelector(".error-card")?.innerText}`);
// Halves of characters cannot be told to the test.
return [...new Set(harms)].map(harm => JSON.stringify(harm).slice(0, 400));
"""


def guard(page: Browser) -> None:
    """From now on each page notes what its policy refused, what ran, and what broke."""
    page.devtools("Page.addScriptToEvaluateOnNewDocument", source=_GUARD)


def harms(page: Browser) -> list[str]:
    return page.run(_HARMS)
