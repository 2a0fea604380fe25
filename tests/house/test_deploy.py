"""Production's configuration: containers with few rights, and a proxy that logs little.

Checked as text, without a container engine; nginx's parsing of its file was tested by hand.
"""

from __future__ import annotations

import re

import pytest

from config.bodies import LARGEST_BODY
from tests.crowd.test_secrets import ways_in
from tests.house.product import REPOSITORY

COMPOSE = (REPOSITORY / "docker-compose.yml").read_text()
PROXY = (REPOSITORY / "deploy" / "proxy.conf.template").read_text()
SERVICES = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", COMPOSE.partition("\nservices:\n")[2], re.M))


def anchor(name: str) -> str:
    """Return what is defined once and merged into several services."""
    match = re.search(rf"^x-{name}: &{name}\n((?:  .*\n)+)", COMPOSE, re.M)
    assert match
    return match[1]


def test_images_are_named_by_their_exact_version() -> None:
    named = re.findall(r"^\s+image: (\S+)", COMPOSE, re.M)
    named += re.findall(r"^FROM (\S+)", (REPOSITORY / "Dockerfile").read_text(), re.M)
    others = [image for image in named if image != "phrasebox"]  # it is built here
    assert len(set(others)) == 4
    for image in others:
        assert re.search(r":\d+\.\d+(\.\d+)?-", image), image


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_change_nothing_and_get_no_rights(name: str) -> None:
    merged = re.findall(r"<<: \*(\w+)", SERVICES[name])
    assert set(merged) <= {"confined", "product"} and merged
    assert "<<: *confined" in anchor("product")
    assert {"cap_drop: [ALL]", "read_only: true"} <= set(map(str.strip, anchor("confined").splitlines()))
    assert "no-new-privileges:true" in anchor("confined")
    # A service's own key would replace the merged one.
    assert not re.search(r"^    (cap_drop|read_only|security_opt|privileged):", SERVICES[name], re.M)


def test_the_proxy_sees_what_it_serves_and_nothing_else_of_the_data() -> None:
    line = r"source: (\w+), target: /srv/data/(\w+), read_only: true, .*subpath: (\w+)"
    mounted = re.findall(line, SERVICES["proxy"])
    assert {target for _source, target, _sub in mounted} == {"pictures", "thumbnails", "exports"}
    assert all(source == "data" and target == sub for source, target, sub in mounted)
    assert not re.search(r"^\s+- data:", SERVICES["proxy"], re.M)
    match = re.search(r"mkdir -p (.*?) &&", SERVICES["migrate"])
    assert match and set(match[1].split()) == {f"/data/{target}" for _source, target, _sub in mounted}


@pytest.mark.parametrize(
    ("requested", "logged"),
    [
        ("/invite/12:abc/", "/invite/..."),
        ("/Invite/12:abc", "/Invite/..."),
        ("/pictures/full-1-ab.png:1a:xyz", "/pictures/..."),
        ("/forgotten/Mg/abc-123/", "/forgotten/..."),
        ("/mturk/quay/begin/eyJ:1:x/", "/mturk/quay/begin/..."),
        ("/mturk/quay/?workerId=A2", "/mturk/quay/"),
        ("/prolific/quay/?PROLIFIC_PID=60a1", "/prolific/quay/"),
        ("/sign-in/?next=/invite/12:abc/", "/sign-in/"),
        ("/tasks/", "/tasks/"),
    ],
)
def test_the_proxy_logs_no_address_that_lets_its_reader_in(requested: str, logged: str) -> None:
    assert settings_of(requested) == logged


def settings_of(requested: str) -> str:
    """Return what the proxy logs of an address."""
    result = re.search(r"map \$request_uri \$told_uri \{(.*?)\n\}", PROXY, re.S)
    assert result
    for pattern, stored in re.findall(r'"~(\S+)"\s+(\S+);', result[1]):
        flags = re.IGNORECASE if pattern.startswith("*") else 0
        match = re.search(pattern.removeprefix("*").replace("(?<", "(?P<"), requested, flags)
        if match:
            return stored.strip('"').replace("$told", match["told"])
    raise AssertionError(requested)


def test_the_proxy_logs_none_of_our_ways_in() -> None:
    for way in ways_in():
        assert "SESAME" not in settings_of(way)


def test_the_proxy_asks_again_where_the_web_processes_are() -> None:
    """nginx looks up a name that is written out once, and an upgrade gives the containers other addresses."""
    targets = set(re.findall(r"proxy_pass (\S+);", PROXY))
    assert targets == {"$web"} and "set $web http://web:8000;" in PROXY
    assert re.search(r"resolver 127\.0\.0\.11 valid=\d+s;", PROXY)


def test_the_proxy_leaves_it_to_the_product_to_refuse_what_is_too_large() -> None:
    taken = re.search(r"client_max_body_size (\d+)m;", PROXY)
    assert taken and int(taken[1]) * 2**20 > LARGEST_BODY


@pytest.mark.parametrize("name", [".dockerignore", ".gitignore"])
def test_what_is_secret_beside_the_code_stays_out_of_images_and_commits(name: str) -> None:
    texts = {line.strip("/") for line in (REPOSITORY / name).read_text().splitlines()}
    assert {".env", "certificates", "backups", "var"} <= texts


def test_nothing_else_of_the_proxys_log_holds_an_address() -> None:
    format = re.search(r"log_format (\w+) (.*?);", PROXY, re.S)
    assert format
    # $request and $http_referer would contain it completely.
    assert not {"$request", "$request_uri", "$args", "$uri", "$http_referer"} & set(
        re.findall(r"\$\w+", format[2])
    )
    assert re.findall(r"access_log \S+ (\w+);", PROXY) == [format[1]]
    assert set(re.findall(r"error_log \S+ (\w+);", PROXY)) == {"crit"}
