"""A corpus's page filtered by tags at the size of Flickr30k: milliseconds and queries, on generated rows.

    python -m studies.grid_of_tags [--database sqlite|postgresql] [--images 31783] [--small 1000]

Images with five captions and ten different tags each, drawn from 12,000 by Zipf's law, stored like `rank_tags
--keep` does. Django's test client requests the whole page as a signed-in researcher: permissions, queries,
template; no network, and no picture. Each page is requested 21 times, without the first. "processor ms" is
the mean CPU time of this process and the database's, which other work on the machine hardly affects; "least"
and "median" are wall-clock times. The last column is the number of queries for the page in a corpus of
`--small` images and in the large one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

#: Numbers of generated tags, and of those of an image.
VOCABULARY, TAGS_PER_IMAGE = 12_000, 10
TIMES = 20
#: Queries by description: t0 is the most frequent tag.
QUERIES = {
    "no filter": "",
    "a tag of many images": "?tags=t0",
    "a rare tag": "?tags=t9000",
    "two frequent tags": "?tags=t0+and+t1",
    "a frequent and a rare one": "?tags=t0+and+t500",
    "three, by or": "?tags=t3+or+t40+or+t500",
    "a phrase": "?tags=%22t5+t5%22",
    "an unknown tag": "?tags=x5",
    "a tag, far down": "?tags=t0&after=20000",
    "a tag and words of a caption": "?tags=t0&text=walks",
    "a tag and a split": "?tags=t0&split=test",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--images", type=int, default=31_783)
    parser.add_argument("--small", type=int, default=1_000)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phrasebox-tags-")))
        os.environ |= {"DJANGO_SETTINGS_MODULE": "config.settings", "DATA_DIR": str(folder)}
        if options.database == "postgresql":
            from tests import prepare, services

            binaries = prepare.find("postgresql")
            if binaries is None:
                sys.exit("postgresql is missing: `make setup` says how to install it")
            os.environ["DATABASE_URL"] = stack.enter_context(services.postgres(binaries))
        import django

        django.setup()
        _measure(options.database, options.images, options.small)
        from django.db import connections

        connections.close_all()


def _measure(database: str, images: int, small: int) -> None:
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from annotation.common.plain_text import text_table
    from annotation.models import Account, Corpus, RoleGrant
    from annotation.selectors.tags.samples import draw_by_tags

    call_command("migrate", verbosity=0)
    for name, number in (("small", small), ("large", images)):
        rows, took, processor = _fill(name, number)
        print(
            f"{name}: {number:,} images, {5 * number:,} captions, {rows:,} tags kept in {took:.0f} s, of "
            f"which this process computed {processor:.0f} s"
        )
    account = Account.objects.create_user("ada", password="of this benchmark alone")
    RoleGrant.objects.create(account=account, role="researcher")
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(account)
    lines = []
    addresses = {what: f"/corpora/large/{query}" for what, query in QUERIES.items()}
    addresses |= {
        "one image, through a filter": "/corpora/large/images/i20000/?tags=t0" if images > 20_000 else "",
        "the list of tags": "/corpora/large/tags/",
        "the list, those with 99": "/corpora/large/tags/?contains=99",
    }
    for what, address in addresses.items():
        if not address:
            continue
        _timed(client, address)
        computed = _computed(database)
        times = [_timed(client, address) for _ in range(TIMES)]
        computed = 1000 * (_computed(database) - computed) / TIMES
        counts = []
        for where in (address.replace("large", "small").replace("i20000", "i500"), address):
            with CaptureQueriesContext(connection) as seen:
                client.get(where)
            counts.append(str(len(seen)))
        lines.append([what, computed, min(times), statistics.median(times), " / ".join(counts)])
    print(text_table([f"{database}: page", "processor ms", "least ms", "median ms", "queries"], lines))
    began, computed = time.perf_counter(), _computed(database)
    draw_by_tags(Corpus.objects.get(name="large"), ["t0", "t1", "t2 or t3"], seed=1, number=300)
    print(
        f"300 images drawn from three strata: {1000 * (time.perf_counter() - began):.0f} ms by the clock, "
        f"{1000 * (_computed(database) - computed):.0f} ms of the processor"
    )


def _computed(database: str) -> float:
    """Return the CPU seconds of this process, and with PostgreSQL of the server process of its connection."""
    begin = time.process_time()
    if database == "sqlite":
        return begin
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (server,) = cursor.fetchone()
    user, system = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[11:13]
    return begin + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _timed(client: object, address: str) -> float:
    began = time.perf_counter()
    answer = client.get(address)  # type: ignore[attr-defined]
    assert answer.status_code == 200, (address, answer.status_code)
    return 1000 * (time.perf_counter() - began)


def _fill(name: str, number: int) -> tuple[int, float, float]:
    """Create a corpus of generated images, captions and tags; return the number of rows of tags, and the
    wall-clock and CPU seconds for storing them."""
    from annotation.datasets.importing import import_records
    from annotation.datasets.tags import save_tags
    from annotation.models import Corpus
    from annotation.protocol.terms import CaptionRecord, ImageRecord

    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    shares /= shares.sum()
    captions = tuple(
        CaptionRecord(f"Somebody {act} across a place with things of number {act} .")
        for act in ("walks", "runs", "sits", "plays", "stands")
    )
    splits = ("train", "train", "train", "dev", "test")

    def records() -> Iterator[ImageRecord]:
        for index in range(number):
            split = splits[index % len(splits)]
            yield ImageRecord(f"i{index}", f"i{index}.jpg", captions, split, 500, 375)

    def tagged() -> Iterator[tuple[str, list[tuple[str, float]]]]:
        drawn = rng.choice(VOCABULARY, (number, TAGS_PER_IMAGE), p=shares)
        for index, tag_numbers in enumerate(drawn.tolist()):
            yield (
                f"i{index}",
                [(f"t{tag}", 1 / (2 + at)) for at, tag in enumerate(dict.fromkeys(tag_numbers))],
            )

    import_records(name=name, records=records(), format="generated", source="grid_of_tags")
    corpus = Corpus.objects.get(name=name)
    began, computed = time.perf_counter(), time.process_time()
    tags = save_tags(corpus=corpus, images=tagged(), unit="nouns", alpha=0.75)
    return tags.tags, time.perf_counter() - began, time.process_time() - computed


if __name__ == "__main__":
    main()
