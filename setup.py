"""What pyproject.toml cannot say: what else goes into a wheel, and what the server needs."""

from pathlib import Path

from setuptools import find_packages, setup

PACKAGES = ("annotation", "config", "evaluation", "models_core", "phrasebox")
#: Folders beside the packages, which lie in `config/assets` once they are installed (config/settings.py).
ASSETS = {f"config.assets.{folder}": folder for folder in ("locale", "static", "templates")}
#: Task types have templates, signs and texts in their folders.
DATA = {
    "annotation": [f"**/*.{end}" for end in ("html", "json", "svg", "txt")],
    "evaluation": ["operations/*.json"],
    "phrasebox": ["py.typed"],
}


def names(file: str) -> list[str]:
    """The packages that a list of requirements names."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


setup(
    packages=[*find_packages(include=[f"{name}{end}" for name in PACKAGES for end in ("", ".*")]), *ASSETS],
    package_dir=ASSETS,
    package_data=DATA | dict.fromkeys(ASSETS, ["**/*"]) | {"config.assets.locale": ["**/*.mo"]},
    py_modules=["manage"],
    extras_require={"kernels": ["numba"], "server": names("requirements.txt")},
)
