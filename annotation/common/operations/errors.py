"""Errors of requests as data: the field, a code, and values."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from phrasebox.errors import PhraseboxError
from phrasebox.registry import UnknownName

#: Exceptions that any operation may raise because of the data, as opposed to a bug.
EXPECTED_ERRORS = (PhraseboxError, UnknownName)
#: Code -> its message. Codes are pydantic's, and "unknown" for a name that does not exist.
WORDING: Mapping[str, str | Promise] = {
    "missing": _("This is required."),
    "extra_forbidden": _("There is no field of this name; known: %(known)s."),
    "int_type": _("Expected a whole number."),
    "int_from_float": _("Expected a whole number."),
    "float_type": _("Expected a number."),
    "finite_number": _("Expected a finite number."),
    "bool_type": _("Expected true or false."),
    "string_type": _("Expected a text."),
    "tuple_type": _("Expected a list."),
    "list_type": _("Expected a list."),
    "dataclass_type": _("Expected a table of values."),
    "unexpected_keyword_argument": _("There is no field of this name."),
    "dict_type": _("Expected a table of values."),
    "greater_than_equal": _("Expected %(ge)s or more."),
    "greater_than": _("Expected more than %(gt)s."),
    "less_than_equal": _("Expected %(le)s or less."),
    "less_than": _("Expected less than %(lt)s."),
    "too_short": _("Expected at least %(min_length)s."),
    "too_long": _("Expected at most %(max_length)s."),
    "string_too_short": _("Expected at least %(min_length)s characters."),
    "string_too_long": _("Expected at most %(max_length)s characters."),
    "null_character": _("Expected a text without null characters."),
    "string_pattern_mismatch": _("This is no valid name: use letters, digits, - and _."),
    "literal_error": _("Expected one of: %(expected)s."),
    "date_type": _("Expected a date, as 2026-12-31."),
    "date_parsing": _("Expected a date, as 2026-12-31."),
    "date_from_datetime_parsing": _("Expected a date, as 2026-12-31."),
    "date_from_datetime_inexact": _("Expected a date, as 2026-12-31."),
    "toml": _("This is not valid TOML: %(message)s"),
    "unknown": _("There is no %(kind)s “%(value)s” here."),
    "unknown_of": _("There is no %(kind)s “%(value)s” here; known: %(known)s."),
    "taken": _("“%(value)s” exists already: choose another name."),
    "two_expected": _("Expected two."),
    "decimal": _("Expected a decimal number, as %(example)s: %(currency)s has %(digits)d decimals."),
    "only_with": _("This is only possible together with %(other)s."),
    "not_with": _("This cannot be combined with %(other)s."),
    "recipe_needs": _("Recipe %(recipe)s needs this."),
    "recipe_chooses": _("Recipe %(recipe)s always chooses settings on held-out images."),
    "recipe_ignores": _("Recipe %(recipe)s does not use this."),
    "no_parses": _("Recipe %(recipe)s learns from parses, and corpus %(corpus)s has none."),
    "has_parses": _("Corpus %(corpus)s has parses already: choose this to have others in their place."),
    "not_of_collection": _("Expected a feature set that collection %(collection)s has too: %(known)s."),
    "fold": _("Expected a fold such as 1/5."),
    "either": _("Expected this or %(other)s."),
    "unprintable": _("Expected visible characters, on one line."),
    "webhook_address": "%(message)s",
    "wrong": "%(message)s",
    "test_is_off": _("This makes an entry test, and the settings say that there is none: leave out either."),
    "no_layer": _("Corpus “%(value)s” has no layer: import one with mentions, or annotate it."),
    "no_download": _("Job %(value)s has no download."),
    "phrase": _("Expected phrases such as 0:0-2, not %(value)s."),
    "tag_query": "%(message)s",
    "email": _("Expected an e-mail address."),
    "repeated": _("“%(value)s” is given twice."),
    "unpaid": _("No pay is set for %(kinds)s: confirm that this is intended."),
    "file_expected": _("Expected a file."),
    "too_large": _("The files have %(size)s; expected at most %(most)s."),
    "unused": _("Found and not used: %(what)s. Choose this to import without them."),
    "unpacks_to_more": _("This unpacks to %(size)s; expected at most %(most)s."),
}


@dataclass(frozen=True, slots=True)
class FieldError:
    """An error of one field: its name (with dots for a place within it), a code, and values."""

    field: str
    code: str
    params: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def detail(self) -> str:
        """The error as a sentence in the reader's language."""
        if self.code in WORDING:
            return str(WORDING[self.code]) % self.params
        return str(self.params.get("message", self.code))


class Invalid(PhraseboxError):
    """An invalid request; `errors` has each invalid field."""

    def __init__(self, *errors: FieldError) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{error.field}: {error.detail}" for error in errors))


def invalid(name: str, code: str, **params: Any) -> Invalid:
    """Return the exception for one invalid field."""
    return Invalid(FieldError(name, code, params))


class Forbidden(PermissionError):
    """The caller has none of the `roles` for the object of the request."""

    def __init__(self, *roles: str) -> None:
        self.roles = roles
        super().__init__(f"this takes the role {' / '.join(roles)}")
