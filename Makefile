# make run · make test · make lint · make docs: each sets up what it needs in .venv and nothing more.
# (make -k lint shows what all the linters say, not only the first that objects.)
#
#   make venv           .venv with the package (editable), the embedded MPI and what programs/ needs
#   make venv-dev       the same plus tests, linters and release tools
#   make ext [ROOM=x]   build the compiled extensions, all or one room's; a broken room doesn't stop the others
#   make nightly        proofs that take too long for make test, and all the examples of property tests
#   make test-mpis      what depends on MPI under other MPIs: the last commit, for each a clone with a .venv of its own
#   make bundles        make pages (pse/views/*/assets, pse/desk/assets) of pse/views/web and pse/desk/page, with npm
#   make clean          remove what was built, and the tools' caches; .venv stays
#
# Variables: PYTHON (the interpreter .venv is made with), PROCESSORS (make run), TESTS (what make test runs),
# JOBS (how many tests it runs at once), MPIS (packages of PyPI, and `system` for the MPI whose mpicc is on PATH),
# BUILD_TYPE and SANITIZE (make ext; for example BUILD_TYPE=Debug SANITIZE=address,undefined).
#
# Two makes at once are safe: whatever changes .venv or build/ holds .make.lock.

PYTHON ?= python3
PROCESSORS ?= 2
TESTS ?=
JOBS ?= 2
MPIS ?= openmpi impi-devel system
BUILD_TYPE ?= Release
SANITIZE ?=

BIN := .venv/bin
BUILD := build/ext
LOCKED := @flock .make.lock $(MAKE) --no-print-directory
STAMP_RUN := .venv/.stamp-run
STAMP_DEV := .venv/.stamp-dev

# Editable without CMake: the extensions are `make ext`'s, so a room that doesn't compile never blocks the set-up.
# Without isolation what has no wheel (otf2) needs setuptools, which environments of Python 3.12 and later don't have.
# In place: Python's own path search finds every new file, where the redirecting finder knows only those of its day.
EDITABLE := --no-build-isolation --config-settings wheel.cmake=false --config-settings editable.mode=inplace
PIP_INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check

# Say what is done next and how long that takes on two cores, do it, say how long it took.
STEP = printf '%s\n' '$(1)'; begun=$$(date +%s); $(2); printf '  done in %d s\n' $$(($$(date +%s) - begun))
# CMake's own chatter is dropped; its warnings and errors come on the other stream.  A terminal shows what ninja compiles.
COMPILE = $(BIN)/cmake --build $(BUILD) $(if $(ROOM),--target room_$(ROOM)) -- -k 0

# Where C and Cython sources may lie.
COMPILED := cext tests $(wildcard programs examples)

.PHONY: run test test-mpis nightly lint lint-python lint-types lint-cython lint-c docs venv venv-dev ext bundles clean locked-venv locked-ext

run: venv ext
	@$(BIN)/pse run programs/fft2d.coven -p $(PROCESSORS)

test: venv-dev ext
	@$(if $(TESTS),,echo 'Running all tests, $(JOBS) at once (some 20 minutes on two cores)')
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(TESTS)

nightly: venv-dev ext
	@$(BIN)/python -m pytest -q -m "nightly or hypothesis" --hypothesis-profile nightly tests

# All of them are tried, though one fails.
test-mpis:
	@for mpi in $(MPIS); do $(MAKE) --no-print-directory test-mpi-$$mpi || failed="$$failed $$mpi"; done; \
		test -z "$$failed" || { echo "Tests fail under:$$failed"; exit 1; }

# mpi4py's wheel knows the MPIs of packages; for the system's it is compiled.  A package is installed anew, since mpich,
# which comes again whenever pyproject.toml has changed, takes the place of its files.
MPI_VERSION := import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version().splitlines()[0])
test-mpi-%:
	@set -e; $(if $(filter system,$*),command -v mpicc >/dev/null || { echo 'system: skipped: there is no mpicc on PATH'; exit 0; };) \
	clone=build/mpi-$*; test -d $$clone || git clone -q . $$clone; \
	git -C $$clone fetch -q origin HEAD; git -C $$clone reset -q --hard FETCH_HEAD; \
	$(MAKE) --no-print-directory -C $$clone venv-dev; cd $$clone; $(BIN)/python -m pip uninstall -q -y mpich 2>/dev/null; \
	$(PIP_INSTALL) $(if $(filter system,$*),--no-binary mpi4py --no-cache-dir --force-reinstall --no-deps mpi4py,--force-reinstall $*) || \
		{ echo '$*: skipped: pip can not install it'; exit 0; }; \
	$(MAKE) --no-print-directory ext; printf 'Running what depends on MPI under %s: ' '$*'; $(BIN)/python -c '$(MPI_VERSION)'; \
	$(BIN)/python -m pytest -q -rs -n $(JOBS) --dist worksteal $(or $(TESTS),tests/mpi tests/toolstack tests/runtime tests/modules)

lint: lint-python lint-types lint-cython lint-c

lint-python: venv-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: venv-dev
	$(BIN)/mypy pse

lint-cython: venv-dev
	find $(COMPILED) pse \( -name '*.pyx' -o -name '*.pxd' \) -print0 | PATH="$(CURDIR)/$(BIN):$$PATH" xargs -0r $(BIN)/cython-lint

lint-c: venv-dev
	find $(COMPILED) \( -name '*.[ch]' -o -name '*.[ch]pp' \) -print0 | xargs -0r $(BIN)/clang-format --dry-run -Werror

# The variables silence two advertisements for successors of MkDocs 1.
docs: venv ext
	$(LOCKED) locked-venv EXTRAS=docs,scenes STAMP=.venv/.stamp-docs
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict
	@echo 'The manual is site/index.html; with its search: $(BIN)/python -m http.server -d site'

venv: $(STAMP_RUN)

venv-dev: $(STAMP_DEV)

$(STAMP_RUN): pyproject.toml
	$(LOCKED) locked-venv EXTRAS=mpich,fft,views STAMP=$(STAMP_RUN)

# The development set contains the other one.
$(STAMP_DEV): pyproject.toml
	$(LOCKED) locked-venv EXTRAS=dev STAMP='$(STAMP_RUN) $(STAMP_DEV)'

ext: venv
	$(LOCKED) locked-ext

# In copies: npm leaves nothing in the package.
BUNDLE = rm -rf build/pages/$(1) && mkdir -p build/pages/$(dir $(1)) && cp -R pse/$(1) build/pages/$(1) && cd build/pages/$(1) && \
	npm ci --prefer-offline --no-audit --no-fund && npm run --silent check && \
	PSE_PAGES='$(CURDIR)/pse/$(patsubst %/,%,$(dir $(1)))' npm run --silent build

bundles:
	$(call BUNDLE,views/web)
	$(call BUNDLE,desk/page)

clean:
	rm -rf build dist site .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find pse tests -name __pycache__ -prune -exec rm -rf {} +
	find pse -name '*.so' -delete

# The rest runs under the lock.  Whoever had to wait for it may find the work done.

locked-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "pse needs Python 3.11 or newer; say which: make PYTHON=/path/to/python3.11")'
	@(for stamp in $(STAMP); do test $$stamp -nt pyproject.toml || exit 1; done) || { \
		set -e; \
		test -x $(BIN)/pip || { $(call STEP,Making .venv (5 s),rm -rf $(BUILD); $(PYTHON) -m venv --clear .venv); }; \
		$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
			> .venv/build-requires.txt; \
		$(call STEP,Installing what the build needs (10 s),$(PIP_INSTALL) -r .venv/build-requires.txt 'cmake>=3.24' ninja setuptools); \
		$(call STEP,Installing pse[$(EXTRAS)] and what it needs into .venv (half a minute; longer over a slow network),$(PIP_INSTALL) -e '.[$(EXTRAS)]' $(EDITABLE)); \
		touch $(STAMP); \
	}

locked-ext:
	@$(BIN)/cmake -S cext -B $(BUILD) -G Ninja >/dev/null \
		-DCMAKE_MAKE_PROGRAM='$(CURDIR)/$(BIN)/ninja' -DPython_EXECUTABLE='$(CURDIR)/$(BIN)/python' \
		-DCMAKE_MODULE_PATH="$$($(BIN)/python -c 'import cython_cmake; print(cython_cmake.__path__[0])')/cmake" \
		-DCMAKE_PREFIX_PATH="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		-DCMAKE_BUILD_TYPE=$(BUILD_TYPE) -DPSE_SANITIZE=$(SANITIZE) -DPSE_IN_TREE=ON
	@if test -f $(BUILD)/.ninja_log; then $(COMPILE) --quiet; else \
		set -e; $(call STEP,Compiling the C and Cython parts (about a minute),if test -t 1; then $(COMPILE); else $(COMPILE) --quiet; fi); \
	fi
# Where Python keeps no bytecode of its own (PYTHONDONTWRITEBYTECODE), every rank would compile all that it imports.
	@$(BIN)/python -m compileall -q pse
