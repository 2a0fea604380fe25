"""Valid environment variables, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.product import PRODUCTION, manage


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set; set it to a long random string and keep it"),
        (
            {"SECRET_KEY": "insecure-key-for-development-only"},
            "SECRET_KEY is not set; set it to a long random string and keep it",
        ),
        ({"SECRET_KEY": "short"}, "SECRET_KEY has 5 characters; use at least 50"),
        ({"DEBUG": "1"}, "DEBUG=1 shows internals to visitors; unset it"),
        (
            {"ALLOWED_HOSTS": "phrasebox.example, *"},
            "ALLOWED_HOSTS=* accepts any host; name the hosts of this server",
        ),
        (
            {"SITE_URL": ""},
            "SITE_URL is not set; name the address that browsers use, as in https://example.org",
        ),
        (
            {"CONTACT_EMAIL": ""},
            "CONTACT_EMAIL is not set; name an e-mail address at which you answer workers",
        ),
    ],
)
def test_production_refuses_what_is_left_open(tmp_path: Path, change: dict[str, str], line: str) -> None:
    done = manage(tmp_path, "migrate", **{**PRODUCTION, **change})
    assert done.returncode == 1
    assert done.stderr == f"PHRASEBOX_ENV=production cannot start: {line}\n"
    assert not (tmp_path / "data").exists()


def test_production_names_everything_left_open_at_once(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", PHRASEBOX_ENV="production", DEBUG="1")
    assert [line.split()[3] for line in done.stderr.splitlines()] == [
        "SECRET_KEY",
        "DEBUG=1",
        "SITE_URL",
        "CONTACT_EMAIL",
    ]


def test_production_passes_every_deployment_check(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_any_variable_all_that_is_written_lies_in_the_data_folder(tmp_path: Path) -> None:
    done = manage(tmp_path, "migrate", "contenttypes", "--verbosity", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "data" / "phrasebox.sqlite3").is_file()
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"PHRASEBOX_ENV": "staging"},
            "PHRASEBOX_ENV='staging' is unknown; use one of: development, production",
        ),
        ({"DEBUG": "yes"}, "DEBUG='yes' is unknown; use one of: 0, 1"),
        (
            {"SITE_URL": "example.org/path"},
            "SITE_URL='example.org/path' is not the address of a server; use one such as https://example.org",
        ),
        (
            {"CONTACT_EMAIL": "people at example.org"},
            "CONTACT_EMAIL='people at example.org' is no e-mail address; use one that somebody reads",
        ),
        (
            {"DISK_RESERVE": "2 GB"},
            "DISK_RESERVE='2 GB' is not a number; use digits only, as in DISK_RESERVE=100",
        ),
        (
            {"DATABASE_URL": "oracle:thin@somewhere:a-password"},
            "DATABASE_URL is not valid; expected postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:///PATH",
        ),
        (
            {"OIDC_ISSUER": "https://id.example"},
            "set all of OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, or none of them",
        ),
        (
            {"OIDC_ISSUER": "http://id.example", "OIDC_CLIENT_ID": "x", "OIDC_CLIENT_SECRET": "y"},
            "OIDC_ISSUER=http://id.example is not valid; expected https://HOST or https://HOST/PATH",
        ),
        *[
            (
                {"EMAIL_URL": address},
                "EMAIL_URL is not valid; expected smtp://HOST:PORT, or smtp+tls:// or smtps://USER:PASSWORD@HOST:PORT",
            )
            for address in ("mail.example:25", "imap://mail.example", "smtp://mail.example:many", "smtp://")
        ],
    ],
)
def test_a_variable_that_makes_no_sense_is_named(tmp_path: Path, change: dict[str, str], line: str) -> None:
    done = manage(tmp_path, "migrate", **change)
    assert (done.returncode, done.stderr) == (1, f"{line}\n")


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = manage(tmp_path, "migrate", DATA_DIR=str(tmp_path / "file" / "data"))
    assert (done.returncode, done.stderr) == (
        1,
        f"DATA_DIR={tmp_path / 'file' / 'data'} cannot be created: Not a directory\n",
    )


@pytest.mark.parametrize(
    ("provided", "message"),
    [
        ({}, "console localhost 25   False False"),
        (PRODUCTION, "dummy localhost 25   False False"),
        ({"EMAIL_URL": "smtp://mail.example"}, "smtp mail.example 25   False False"),
        ({"EMAIL_URL": "smtp+tls://me%40x:p%2Fw@mail.example"}, "smtp mail.example 587 me@x p/w True False"),
        ({"EMAIL_URL": "smtps://me:pw@mail.example:2465"}, "smtp mail.example 2465 me pw False True"),
    ],
)
def test_e_mail_goes_out_as_one_address_says(tmp_path: Path, provided: dict[str, str], message: str) -> None:
    ask = (
        "from django.conf import settings as s; print(s.EMAIL_BACKEND.split('.')[-2], s.EMAIL_HOST, "
        "s.EMAIL_PORT, s.EMAIL_HOST_USER, s.EMAIL_HOST_PASSWORD, s.EMAIL_USE_TLS, s.EMAIL_USE_SSL)"
    )
    done = manage(tmp_path, "shell", "--no-imports", "-c", ask, **provided)
    assert (done.returncode, done.stdout) == (0, f"{message}\n")
