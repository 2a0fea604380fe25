# `make` prints what there is. Everything runs from .venv, which is made on first use.

.DEFAULT_GOAL := help
.PHONY: help demo serve docs test test-slow test-faults soak check audit messages hooks clean

# Tried in this order until one is new enough; `make PYTHON=/path/to/python demo` names another.
PYTHONS := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11
NO_TEXTS := --ignore .venv --ignore build --ignore tests --ignore studies --ignore var
INSTALL := .venv/bin/python -m pip install --disable-pip-version-check -c constraints.txt
# Torch's usual build for Linux brings CUDA, some gigabytes. `make TORCH_BUILD= demo` takes the usual one.
TORCH_BUILD := cpu
TORCH := torch==$(shell sed -n 's/^torch==//p' constraints.txt)+$(TORCH_BUILD)

help: ## Print this list
	@echo "Phrasebox: make TARGET, where TARGET is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/runtime ## Captions to a dataset with a simulated crowd, then browse it (DEMO_SERVE=0: do not serve)
	@.venv/bin/python manage.py demo

serve: .venv/runtime ## Serve what is there at http://127.0.0.1:8000
	@.venv/bin/python manage.py migrate --verbosity 0
	@.venv/bin/python manage.py serve

docs: .venv/development ## Build the documentation into build/docs; the server shows it under /docs/
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build
	@echo "build/docs/index.html; with a server: http://127.0.0.1:8000/docs/"

test: .venv/development ## All tests but the slow ones, on SQLite and PostgreSQL side by side (ARGS=... goes to pytest)
	@.venv/bin/python -m tests.run $(ARGS)

test-slow: .venv/development ## The slow tests too, everything on both databases, with more examples
	@.venv/bin/python -m tests.run --slow $(ARGS)

test-faults: .venv/development ## Put 60 faults into the code, one at a time: do the tests find them? (ARGS="--seed 2")
	@.venv/bin/python -m tests.faults $(ARGS)

soak: .venv/development ## 45 minutes on each database while all breaks that can: is anything lost? (ARGS="--minutes 6")
	@.venv/bin/python -m tests.soak $(ARGS)

check: .venv/development ## Style, types, who imports whom, Django's checks, missing migrations
	.venv/bin/ruff check .
	.venv/bin/ruff format --check --quiet .
	.venv/bin/mypy
	.venv/bin/lint-imports
	.venv/bin/python manage.py check --fail-level WARNING
	.venv/bin/python manage.py makemigrations --check --dry-run

audit: .venv/bin/python ## Known vulnerabilities of the pinned packages (asks the service behind PyPI)
	@.venv/bin/python -m tests.audit

messages: .venv/development ## Collect the texts to translate into locale/, and compile them (needs GNU gettext)
	.venv/bin/python manage.py makemessages --all --no-obsolete --no-wrap --add-location file $(NO_TEXTS)
	.venv/bin/python manage.py compilemessages $(NO_TEXTS)

hooks: .venv/development ## Run the quick checks before every commit of yours
	@.venv/bin/pre-commit install

clean: ## Remove .venv and what tools remember; the data in var/ stays
	rm -rf .venv build phrasebox.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# A stamp is newer than the lists it was installed from, so nothing is installed twice.
.venv/torch: constraints.txt | .venv/bin/python
	@if [ -z "$(TORCH_BUILD)" ]; then echo "Taking the usual build of torch"; \
	elif $(INSTALL) --quiet "$(TORCH)" 2>/dev/null; then echo "Took $(TORCH), a build without CUDA"; \
	else echo "The index has no $(TORCH): taking the usual build, which may bring CUDA"; fi
	@touch $@

.venv/runtime: requirements.txt constraints.txt .venv/torch | .venv/bin/python
	$(INSTALL) -r requirements.txt
	@touch $@

.venv/development: requirements.txt requirements-extras.txt requirements-dev.txt constraints.txt .venv/torch | .venv/bin/python
	$(INSTALL) -r requirements-dev.txt
	@touch $@ .venv/runtime

.venv/bin/python:
	@for candidate in $(PYTHONS); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	  candidate=; \
	done; \
	if [ -z "$$candidate" ]; then \
	  echo "Python 3.11 or newer is needed; tried: $(strip $(PYTHONS)). Name one: make PYTHON=/path/to/python demo" >&2; \
	  exit 1; \
	fi; \
	echo "Making .venv with $$("$$candidate" --version)"; \
	"$$candidate" -m venv .venv || { \
	  rm -rf .venv; \
	  echo "Python could not make .venv; on Debian and Ubuntu install python3-venv first" >&2; \
	  exit 1; \
	}
