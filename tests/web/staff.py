"""Use the pages of campaigns in tests: fill in the forms that a page contains, and send them.

Pressing a button sends the same as a browser: the hidden fields, what is ticked and selected, and the
button's own name. So a test cannot send what the page does not contain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from tests import worlds
from tests.factories import some_images
from tests.queue.world import World


@dataclass
class Form:
    """A form of a page: its address, its values, and its buttons by their texts; `actions` are those of
    buttons with another address."""

    action: str
    method: str
    fields: dict[str, list[str]] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict)
    actions: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


class _Forms(HTMLParser):
    """Collects forms; texts of buttons exclude what only screen readers read."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.button: tuple[str, str] | None = None
        self.action = ""
        self.words = ""
        self.aside = 0
        self.select = ""
        self.option: tuple[str | None, bool] | None = None
        self.area = ""

    @property
    def form(self) -> Form:
        return self.forms[-1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = dict(attrs)
        name, value = at.get("name") or "", at.get("value")
        if tag == "form":
            self.forms.append(Form(at.get("action") or "", at.get("method") or "get"))
        elif tag == "input" and name:
            ticked = at.get("type") in ("checkbox", "radio")
            value = value if value is not None else "on" if ticked else ""
            if ticked:
                self.form.choices.setdefault(name, []).append(value)
            if not ticked or "checked" in at:
                self.form.fields.setdefault(name, []).append(value)
        elif tag == "select":
            self.select = name
        elif tag == "option" and self.select:
            self.option, self.words = (value, "selected" in at), ""
        elif tag == "textarea":
            self.area, self.words = name, ""
        elif tag == "button" and "disabled" not in at:
            self.button, self.words = (name, value or ""), ""
            self.action = at.get("formaction") or ""
        elif self.button is not None and (self.aside or at.get("class") == "aside"):
            self.aside += 1

    def handle_endtag(self, tag: str) -> None:
        words = " ".join(self.words.split())
        if tag == "button" and self.button is not None:
            self.form.buttons[words] = self.button
            if self.action:
                self.form.actions[words] = self.action
            self.button = None
        elif self.aside and self.button is not None:
            self.aside -= 1
        elif tag == "option" and self.option is not None:
            value, selected = self.option
            value = words if value is None else value
            self.form.choices.setdefault(self.select, []).append(value)
            if selected or self.select not in self.form.fields:
                self.form.fields[self.select] = [value]
            self.option = None
        elif tag == "select":
            self.select = ""
        elif tag == "textarea":
            self.form.fields[self.area] = [self.words.removeprefix("\n")]
            self.area = ""

    def handle_data(self, data: str) -> None:
        if not self.aside:
            self.words += data


def forms(page: Any) -> list[Form]:
    """Return the forms of a page, in order."""
    parser = _Forms()
    parser.feed(page.content.decode())
    return parser.forms


def press(client: Client, address: str, button: str, /, also: str = "", **filled: str | list[str]) -> Any:
    """Open a page, fill in the first form with this button (and `also` in its address), and press the button.

    Returns the page that follows. Fails if there is no such form, field or choice.
    """
    page = client.get(address)
    assert page.status_code == 200, (address, page.status_code)
    names = [
        form
        for form in forms(page)
        if button in form.buttons and also in form.actions.get(button, form.action)
    ]
    assert names, f"{address} has no button {button!r}: {[list(f.buttons) for f in forms(page)]}"
    form = names[0]
    fields: dict[str, list[str]] = dict(form.fields)
    for name, value in filled.items():
        values = [value] if isinstance(value, str) else value
        assert name in form.fields or name in form.choices, f"no field {name!r} beside {button!r}"
        assert all(v in form.choices.get(name, [v]) for v in values), f"no choice {values} of {name!r}"
        fields[name] = values
    name, value = form.buttons[button]
    if name:
        fields[name] = [value]
    send = client.post if form.method == "post" else client.get
    return send(form.actions.get(button) or form.action or address, fields, follow=True)


def messages_on(page: Any) -> list[str]:
    """Return the page's messages about the last action."""
    return [str(message) for message in page.context["messages"]]


def words(page: Any) -> str:
    """Return the text of a page without tags, with single spaces."""
    parser = _Words()
    parser.feed(page.content.decode())
    return " ".join(parser.text.split())


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def answered() -> World:
    """Return two images with correct answers to every question."""

    def build() -> World:
        world = World(some_images(2))
        world.work()
        return world

    return worlds.again("two images, all answered", build)
