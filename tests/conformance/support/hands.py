"""Two ways to use a page without a mouse: by the keys of a keyboard alone, and by a finger on a
phone. Whatever they use they find as assistive technology does, by role and name. A keyboard
reaches it by Tab and nothing else, and has to see where it is; a finger needs something large
enough that nothing covers."""

from __future__ import annotations

from typing import Any, NoReturn

from .browser import CONTROL, Browser, NoSuchElement
from .wait import eventually

_PATIENCE = 30.0
_MOST_TABS = 250
#: What a finger has to be able to hit, but for the pixels at its edges.
_FINGER = 44 - 3
_TEXTS = ("textbox", "searchbox", "combobox", "spinbutton")

#: Whether a point in the middle of this is this, or within it.
_UNCOVERED = """function() {
    const {left, top, width, height} = this.getBoundingClientRect();
    const at = document.elementFromPoint(left + width / 2, top + height / 2);
    return at !== null && (this.contains(at) || at.contains(this));
}"""
#: Whether a person sees that this has the focus.
_MARKED = """function() {
    const style = getComputedStyle(this);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
}"""
#: Where to tap it, and how far from there a finger still hits it: left, right, up, down. Undefined
#: for a link within a sentence, which is as high as its line.
_PLACE = """function() {
    this.scrollIntoView({block: "center", behavior: "instant"});
    const {left, top, width, height} = this.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const hit = (dx, dy) => {
        const at = document.elementFromPoint(x + dx, y + dy);
        return at !== null && this.contains(at);
    };
    const reach = (dx, dy) => {
        let far = 0;
        while (far < 40 && hit((far + 1) * dx, (far + 1) * dy)) far += 1;
        return far;
    };
    const sentence = [...this.parentNode.childNodes].some(
        node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
    const inline = sentence && getComputedStyle(this).display === "inline";
    const size = inline ? [44, 44] : [reach(-1, 0) + reach(1, 0), reach(0, -1) + reach(0, 1)];
    return {x, y, size, hit: hit(0, 0)};
}"""
#: Notes the first click that this, or something within it, gets.
_AWAIT_CLICK = """function() {
    this.addEventListener("click", () => { this.crabClicked = true; }, {capture: true, once: true});
}"""
#: What became of it: it was clicked, it was drawn anew before it could be, or neither yet.
_CLICKED = """function() {
    return this.crabClicked ? "clicked" : this.isConnected ? "" : "gone";
}"""
#: Before that a browser drops what is pressed.
_PAINTED = "return performance.getEntriesByName('first-contentful-paint').length > 0"


def _of(node: dict[str, Any]) -> tuple[str, str]:
    """Its role and its name."""
    name = node.get("name", {}).get("value", "")
    return node.get("role", {}).get("value", ""), " ".join(name.split())


class Hand:
    """What both can do. A name that ends with `…` is the beginning of one."""

    #: The window, and what it looks like there.
    size: tuple[int, int]
    theme: str

    def __init__(self, page: Browser) -> None:
        self.page = page
        page.devtools("Accessibility.enable")
        page.resize(*self.size)

    def press(self, role: str, name: str) -> None:
        """Presses a control."""
        raise NotImplementedError

    def write(self, name: str, text: str) -> None:
        """Types into a field, in place of what is there."""
        raise NotImplementedError

    def choose(self, name: str, option: str) -> None:
        """Takes one option of a field."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the dialog that is open."""
        raise NotImplementedError

    def visit(self, name: str) -> None:
        """Goes to a page of the console."""
        raise NotImplementedError

    def send(self) -> None:
        """Sends what was typed last."""
        raise NotImplementedError

    @staticmethod
    def _fits(node: tuple[str, str], roles: tuple[str, ...], name: str) -> bool:
        role, found = node
        named = found.startswith(name[:-1]) if name.endswith("…") else found == name
        return role in roles and named

    def _call(self, object_id: str, function: str) -> Any:
        answer = self.page.devtools(
            "Runtime.callFunctionOn",
            objectId=object_id,
            functionDeclaration=function,
            returnByValue=True,
        )
        return answer["result"].get("value")

    def nodes(self) -> list[dict[str, Any]]:
        """All that assistive technology is told of."""
        found = self.page.devtools("Accessibility.getFullAXTree")["nodes"]
        return [node for node in found if not node.get("ignored")]

    def shows(self, role: str, name: str) -> bool:
        return any(self._fits(_of(node), (role,), name) for node in self.nodes())

    def fail(self, what: str) -> NoReturn:
        controls = sorted({_of(node) for node in self.nodes() if _of(node)[1]})
        raise AssertionError(f"{type(self).__name__}: {what}; there are {controls}")


class Keyboard(Hand):
    """Tab, Enter, Space, letters."""

    size, theme = (1280, 900), "light"
    PAGES = {
        "Overview": "o",
        "Chat": "c",
        "Approvals": "a",
        "Tools": "t",
        "Calls": "l",
        "Devices": "d",
        "Policy": "p",
        "Audit": "u",
        "Health": "h",
    }

    def _focused(self) -> tuple[str, tuple[str, str]]:
        """What has the focus: as an object of the debugger, and role and name."""
        element = self.page.devtools("Runtime.evaluate", expression="document.activeElement")
        object_id = element["result"].get("objectId", "")
        if not object_id:
            return "", ("", "")
        found = self.page.devtools(
            "Accessibility.getPartialAXTree", objectId=object_id, fetchRelatives=False
        )["nodes"]
        return object_id, _of(found[0])

    def reach(self, roles: tuple[str, ...], name: str) -> str:
        """Tabs to it; it is seen there, and that it has the focus."""
        for _ in range(_MOST_TABS):
            object_id, found = self._focused()
            if self._fits(found, roles, name):
                break
            self.page.press("Tab")
        else:
            self.fail(f"no Tab leads to {roles} {name!r}")
        for function, words in ((_UNCOVERED, "is covered"), (_MARKED, "shows no focus")):
            if not self._call(object_id, function):
                self.fail(f"{found} {words}")
        return object_id

    def wait(self, role: str, name: str) -> None:
        eventually(lambda: self.shows(role, name), f"{role} {name!r}", _PATIENCE)

    def press(self, role: str, name: str) -> None:
        self.wait(role, name)
        self.reach((role,), name)
        alive = "return document.activeElement.getAttribute('aria-disabled') !== 'true'"
        eventually(lambda: self.page.run(alive), f"{name!r} can be pressed", _PATIENCE)
        self.page.press(" " if role == "switch" else "Enter")

    def write(self, name: str, text: str) -> None:
        eventually(
            lambda: any(self.shows(role, name) for role in _TEXTS), f"a field {name!r}", _PATIENCE
        )
        self.reach(_TEXTS, name)
        self.page.chord(CONTROL, "a")
        self.page.press(*text)

    def choose(self, name: str, option: str) -> None:
        self.wait("combobox", name)
        self.reach(("combobox",), name)
        self.page.press("Home")
        chosen = "return document.activeElement.selectedOptions[0].text"
        for _ in range(_MOST_TABS):
            if self.page.run(chosen) == option:
                return
            self.page.press("ArrowDown")
        self.fail(f"{name!r} has no option {option!r}")

    def close(self) -> None:
        self.page.press("Escape")

    def visit(self, name: str) -> None:
        typing = "return document.activeElement.matches('input, textarea, select')"
        if name in self.PAGES and not self.page.run(typing):
            self.page.press("g", self.PAGES[name])
        else:
            self.press("link", name)

    def send(self) -> None:
        self.page.press("Enter")


class Touch(Hand):
    """Taps, and what a phone's own keyboard types."""

    size, theme = (390, 844), "dark"
    BAR = ("Overview", "Chat", "Approvals", "Devices")

    def __init__(self, page: Browser) -> None:
        super().__init__(page)
        page.devtools("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=1)

    def _find(self, roles: tuple[str, ...], name: str) -> str | None:
        for node in self.nodes():
            disabled = any(
                each["name"] == "disabled" and each["value"].get("value")
                for each in node.get("properties", ())
            )
            if self._fits(_of(node), roles, name) and not disabled:
                found = self.page.devtools(
                    "DOM.resolveNode", backendNodeId=node["backendDOMNodeId"]
                )
                return found["object"]["objectId"]
        return None

    def _arrived(self, object_id: str, what: str) -> bool:
        """Whether a tap has reached it: a click of it, or another page in place of this one."""

        def became() -> str:
            try:
                return self._call(object_id, _CLICKED) or ""
            except (AssertionError, NoSuchElement):
                return "clicked"  # its document is gone: it led to another

        return eventually(became, f"{what} is clicked by the tap on it", _PATIENCE) == "clicked"

    def _tap(self, roles: tuple[str, ...], name: str) -> bool:
        try:
            object_id = self._find(roles, name) if self.page.run(_PAINTED) else None
            if object_id is None:
                return False
            self._call(object_id, _AWAIT_CLICK)
            place = self._call(object_id, _PLACE)
        except (AssertionError, NoSuchElement):
            return False  # it was drawn anew between two requests
        if not place or not place["hit"]:
            return False  # drawn anew, or covered: the next look tells
        if min(place["size"]) < _FINGER:
            self.fail(f"{roles} {name!r} is too small for a finger: {place['size']} px")
        points = [{"x": place["x"], "y": place["y"]}]
        self.page.devtools("Input.dispatchTouchEvent", type="touchStart", touchPoints=points)
        self.page.devtools("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        return self._arrived(object_id, f"{roles} {name!r}")

    def press(self, role: str, name: str) -> None:
        eventually(lambda: self._tap((role,), name), f"{role} {name!r}", _PATIENCE)

    def write(self, name: str, text: str) -> None:
        eventually(lambda: self._tap(_TEXTS, name), f"a field {name!r}", _PATIENCE)
        focused = "return document.activeElement.matches('input, textarea')"
        eventually(lambda: self.page.run(focused), f"{name!r} has the focus", _PATIENCE)
        self.page.run("document.activeElement.select()")
        self.page.devtools("Input.insertText", text=text)

    def choose(self, name: str, option: str) -> None:
        # the list is drawn by the phone, not by the page
        self.page.click_option(name, option)

    def close(self) -> None:
        self.press("button", "Close")

    def visit(self, name: str) -> None:
        if name not in self.BAR:
            self.press("button", "More")
        self.press("link", f"{name}…" if name == "Approvals" else name)

    def send(self) -> None:
        self.press("button", "Send")
