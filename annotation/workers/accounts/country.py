"""The country that a worker is from, as their platform or they themselves say: a condition of campaigns, and
a count in datasheets.

It is stored with the identity, which erasing deletes. A worker says it once: who learns that a campaign is
for people from elsewhere cannot say something else. An admin corrects it.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated

from babel import Locale
from django.utils.translation import get_language, gettext_lazy, to_locale
from django.utils.translation import gettext as _
from pydantic import Field

from annotation.audit import record
from annotation.common import database
from annotation.common.operations import Help, OneOf, OperationContext
from annotation.models import Identity, Visit, Worker
from annotation.protocol.countries import COUNTRIES
from annotation.workers.pseudonyms import worker_called, worker_of
from phrasebox.errors import PhraseboxError


def country_names() -> Mapping[str, str]:
    """Return the names of all countries by their codes, in the language of the reader and its order."""
    return _names(to_locale(get_language() or "en"))


@cache
def _names(locale: str) -> Mapping[str, str]:
    territories = Locale.parse(locale).territories
    names = {code: str(territories[code]) for code in COUNTRIES}
    return dict(sorted(names.items(), key=lambda named: unicodedata.normalize("NFKD", named[1]).casefold()))


CountryName = Annotated[str, OneOf(country_names)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SayCountryRequest:
    """The country that you are from. You can say it once."""

    country: Annotated[CountryName, Help(gettext_lazy("Country"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectCountryRequest:
    """The country that a worker is from; without one, they may say it again."""

    worker: Annotated[
        str,
        Field(max_length=150),
        Help(gettext_lazy("Worker"), gettext_lazy("The pseudonym, or the name of the account")),
    ]
    country: Annotated[CountryName | None, Help(gettext_lazy("Country"))] = None


def say_country(request: SayCountryRequest, context: OperationContext) -> None:
    """Store the caller's country. Raises PhraseboxError if another one is stored."""
    store_own_country(worker_of(context.actor), request.country)


def store_own_country(worker: Worker, country: str) -> None:
    """Store a worker's country. Raises PhraseboxError if another one is stored."""
    with database.writing():
        identity = Identity.objects.select_for_update().get(worker=worker)
        if identity.country not in ("", country):
            raise PhraseboxError(
                _(
                    "Your country is stored already. If it is wrong, write to the people who run this: they "
                    "correct it."
                )
            )
        Identity.objects.filter(pk=identity.pk).update(country=country)


def correct_country(request: CorrectCountryRequest, context: OperationContext) -> None:
    """Store the country of a worker, who is not erased. Raises Invalid and PhraseboxError."""
    worker = worker_called(request.worker)
    with database.writing():
        if not Identity.objects.filter(worker=worker).update(country=request.country or ""):
            raise PhraseboxError(_("Worker “%(name)s” is erased.") % {"name": worker.pseudonym})
        # Without the country: the line stays when the person is erased.
        record(actor=context.actor, act="correct_country", worker=worker.pseudonym)


def store_country_of_visitor(visit: Visit) -> None:
    """Store the country from which a study's platform sends people, whatever its visitor said."""
    if visit.study.country:
        with database.writing():
            Identity.objects.filter(pk=visit.identity_id).update(country=visit.study.country)
