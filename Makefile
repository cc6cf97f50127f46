# make book   the site, from nothing        make test   every check
# make lab    the notebooks, live           make help   the rest
PYTHON ?= python3
VENV := .venv
ENGINES := .venv-engines
# Commands run inside the environment: notebooks then find its kernel and the build its tools.
IN_VENV := . $(VENV)/bin/activate &&
SITE := _build/html/index.html

.DEFAULT_GOAL := help
.PHONY: help setup book zip pdf dist test lint notebooks lab bench engines clean other-python

help:
	@echo "make book       build the site ($(SITE)); sets everything up the first time"
	@echo "make zip        pack the site, with a checksum, into dist/"
	@echo "make pdf        print the whole book as one PDF into dist/ (needs Chromium)"
	@echo "make dist       all that a release carries: the zip, the PDF, the notebooks, the sheet"
	@echo "make test       set up, build, then run every check"
	@echo "make lab        open the chapters live in JupyterLab"
	@echo "make notebooks  run every chapter again and store its outputs"
	@echo "make bench      time the theory, the widgets and the build"
	@echo "make engines    run the pair in transformers and vLLM (own environment, 3.4 GB; Linux)"
	@echo "make clean      remove the site and the environment"

setup: $(VENV)/ready

# Another Python is used when it is asked for by name; otherwise the environment keeps its own.
ifneq ($(origin PYTHON),file)
$(VENV)/ready: other-python
SAME_PYTHON = test "$$($(VENV)/bin/python -V)" = "$$($(PYTHON) -V)"
endif
SAME_PYTHON ?= true

# Content decides, not the clock: a fresh checkout with the same requirements installs nothing.
$(VENV)/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; ok = (3, 11) <= v <= (3, 13); \
	  ok or sys.exit("specmini needs Python 3.11, 3.12 or 3.13; $(PYTHON) is %d.%d. Try: make PYTHON=python3.12" % v)'
	@{ test -x $(VENV)/bin/pip -a -f $(VENV)/bin/activate && $(SAME_PYTHON); } || { \
	  echo "== Making the environment $(VENV) with $$($(PYTHON) -V)"; $(PYTHON) -m venv --clear $(VENV); }
	@cat requirements.txt pyproject.toml | cmp -s - $(VENV)/installed || { \
	  echo "== Installing the pinned packages (a few minutes the first time)"; \
	  $(IN_VENV) python -m pip install --disable-pip-version-check --progress-bar off -r requirements.txt && \
	  echo "== Installing specmini" && \
	  $(IN_VENV) python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable . && \
	  cat requirements.txt pyproject.toml > $(VENV)/installed; }
	@touch $@

book: setup
	@echo "== Running the chapters and building the site"
	@$(IN_VENV) jupyter-book build . --warningiserror --nitpick --keep-going
	@echo "== Open $(SITE) in a browser (no server needed)"

# Dated by the last commit, so that the same commit makes the same zip; without git, by the clock.
zip pdf: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
zip: book
	@$(IN_VENV) python -m specmini.publish.archive _build/html

pdf: book
	@echo "== Printing the book"
	@$(IN_VENV) python -m specmini.publish.book_pdf _build/html

dist: zip pdf
	@$(IN_VENV) python -m specmini.publish.launch book --into dist/notebooks && \
	  python -m specmini.publish.archive dist/notebooks --name notebooks
	@cp _build/html/_static/*.pdf dist/

lint: setup
	@echo "== Style and types"
	@$(IN_VENV) ruff check . && ruff format --check . && mypy

test: lint book
	@echo "== Tests: the package, every chapter against its stored outputs, the site in a browser"
	@$(IN_VENV) python -m pytest --nbval

notebooks: setup
	@$(IN_VENV) python -m specmini.notebooks book

lab: setup
	@$(IN_VENV) jupyter lab book

bench: setup
	@for script in tests/benchmarks/*.py; do echo "== $$script"; $(IN_VENV) python $$script || exit 1; done

# An environment of its own: these engines pin other versions of what the book uses.
$(ENGINES)/ready: requirements-engines.txt
	@test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	@cmp -s requirements-engines.txt $(ENGINES)/installed || { \
	  echo "== Installing the engines (some minutes the first time)"; \
	  $(ENGINES)/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-deps -r requirements-engines.txt && \
	  cp requirements-engines.txt $(ENGINES)/installed; }
	@touch $@

engines: $(ENGINES)/ready
	@PYTHONPATH=. $(ENGINES)/bin/python tests/benchmarks/engines.py $(if $(WRITE),--write $(WRITE))

clean:
	rm -rf _build dist $(VENV) $(ENGINES)
