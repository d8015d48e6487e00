# Every target creates what it needs: a .venv from requirements.lock, with uv if it is installed, otherwise with pip.
# A lock is complete, so pip installs it with --no-deps. Otherwise it resolves again, and refuses the lock as soon as an index has a
# newer version of a package that another one asks for with an extra.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
INTEROP := build/interop

# Tests start hundreds of processes; without compiled modules each process would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup test fuzz test-cluster test-interop fuzz-cluster examples house lint format bench bench-cluster demo scenarios results ablation docs lock dist sbom image-environment sizes clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 20

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hypot needs Python 3.11 or newer; set PYTHON=...")'
	@echo "setting up .venv, once: about 850 MB, with everything the tests need"
	@if command -v uv >/dev/null 2>&1; then \
	  { [ -x $(BIN)/python ] || uv venv --quiet --python $(PYTHON) .venv; } && \
	  uv pip sync --python $(BIN)/python --require-hashes requirements.lock && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .; \
	else \
	  { [ -x $(BIN)/pip ] || $(PYTHON) -m venv .venv; } && \
	  $(BIN)/pip install --disable-pip-version-check --no-deps --require-hashes -r requirements.lock && \
	  $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	@touch $(READY)

setup: $(READY) ## Create the virtual environment

# All tests of a file go to one process, so that what they share is made once. Files start in the order of tests/conftest.py;
# pytest-xdist would put those of few tests last, which take the longest.
test: $(READY) ## Run the unit, property and conformance tests
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

fuzz: $(READY) ## Run the property tests on new random examples: N=100000 hostile specs per kind, SEED=1 repeats a run, ONLY=vpa selects tests, IN=tests/property a folder
	@seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); \
	echo "to repeat this run: make fuzz N=$(or $(N),1000) SEED=$$seed"; \
	HYPOT_FUZZ=$(or $(N),1000) $(BIN)/pytest -n auto --dist loadgroup -m hypothesis --hypothesis-seed=$$seed -o faulthandler_timeout=0 \
	  $(if $(ONLY),-k "$(ONLY)") $(IN)

# Most of these tests wait for a controller, so two processes take half of the time. Each file has a control plane of its own.
test-cluster: $(READY) ## Test against a real Kubernetes control plane (built once with Go, 5 to 15 minutes)
	$(BIN)/python tests/cluster/plane/binaries.py
	$(BIN)/pytest tests/cluster -n 2 --dist loadfile --no-loadscope-reorder \
	  --ignore=tests/cluster/test_twins.py --ignore=tests/cluster/controller/test_autoscaler_day.py
	$(BIN)/pytest tests/cluster/test_twins.py # compares exact times, so nothing runs beside it
	$(BIN)/pytest tests/cluster/controller/test_autoscaler_day.py # ten minutes in which each second counts, so the same

# An environment of its own: the other tests need none of these packages. Without npm there is no pyright.
$(INTEROP)/.ready: interop.lock tests/interop/package-lock.json
	@echo "setting up $(INTEROP), once: about 400 MB, with the packages that hypot works with"
	@$(PYTHON) -m venv --clear $(INTEROP)
	@$(INTEROP)/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r interop.lock
	@if command -v npm >/dev/null 2>&1; then \
	  cp tests/interop/package.json tests/interop/package-lock.json $(INTEROP) && \
	  npm ci --prefix $(INTEROP) --ignore-scripts --no-audit --no-fund --silent; \
	else \
	  echo "npm is not installed, so pyright is not tested"; \
	fi
	@touch $@

test-interop: $(INTEROP)/.ready ## Test with cdk8s, the Kubernetes clients, pyright and pre-commit, in an environment of its own
	$(INTEROP)/bin/pytest -c tests/interop/pytest.ini tests/interop

fuzz-cluster: $(READY) ## Check N=20000 random manifests, quantities and calls of constructors against the control plane
	$(BIN)/python tests/cluster/plane/binaries.py
	HYPOT_FUZZ=$(or $(N),20000) $(BIN)/pytest -s tests/cluster/test_manifests.py tests/cluster/test_quantities.py \
	  tests/cluster/test_crds.py tests/cluster/test_crds_vertical.py tests/cluster/test_constructors.py

examples: $(READY) ## Write examples/cluster again, from a real cluster
	PYTHONPATH=tests $(BIN)/python tests/cluster/twins/make_examples.py

house: ## Print how the code is laid out: files per folder, tests on kinds, names defined twice
	@$(PYTHON) docs/design/house.py

lint: $(READY) ## Check style, types and the imports between layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --collect-only -qqq tests/cluster # `make test` does not import these

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY) ## Print speed and memory figures
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/replay.py
	$(BIN)/python bench/core.py
	$(BIN)/python bench/hvpa.py
	$(BIN)/python bench/bank.py
	$(BIN)/python bench/state.py
	$(BIN)/python bench/history.py
	$(BIN)/python bench/tortoise.py
	$(BIN)/python bench/autoscaler.py
	$(BIN)/python bench/recommend.py
	$(BIN)/python bench/webhook.py
	PYTHONPATH=tests $(BIN)/python bench/metrics.py
	@! command -v node >/dev/null 2>&1 || $(MAKE) --no-print-directory $(INTEROP)/.ready || true # cdk8s-plus to compare with
	$(BIN)/python bench/authoring.py

bench-cluster: $(READY) ## Compare the controller with Kubernetes' own on 2,000 autoscalers, make 3,000 at once, and keep 20,000 (about 20 minutes)
	$(BIN)/python tests/cluster/plane/binaries.py
	PYTHONPATH=tests $(BIN)/python bench/cluster.py
	PYTHONPATH=tests $(BIN)/python bench/burst.py
	$(BIN)/python bench/large.py

demo: $(READY) ## Replay a week of a shop under five policies, and open the report
	$(BIN)/hypot replay examples/replay/week.csv -f examples/replay/policies.yaml \
	  --world examples/replay/world.yaml --report demo.html
	@$(PYTHON) -c 'import pathlib, webbrowser; webbrowser.open(pathlib.Path("demo.html").resolve().as_uri())' || true

scenarios: $(READY) ## Run all scenarios in full: known problems of autoscalers, and policies that solve them
	$(BIN)/hypot scenarios

results: $(READY) ## Write docs/results.md and docs/autoscaler-results.md again, from the shared traces
	$(BIN)/python docs/results.py
	$(BIN)/python docs/results_autoscaler.py

ablation: $(READY) ## Write docs/autoscaler-ablation.md again: an Autoscaler without each of its parts (about an hour)
	$(BIN)/python docs/results_ablation.py

docs: $(READY) ## Write the generated pages again
	$(BIN)/python docs/generate.py
	$(BIN)/python deploy/generate.py

lock: ## Resolve the dependencies again (needs uv)
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --upgrade --quiet -o requirements.lock
	uv pip compile --group pyproject.toml:interop --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --upgrade --quiet -o interop.lock
	uv pip compile --group pyproject.toml:release -c requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-emit-index-url --upgrade --quiet -o release.lock

dist: ## Write the wheel and the sdist into dist/, and check that they can be published
	@$(PYTHON) deploy/dist.py

sbom: $(READY) ## Write dist/hypot.cdx.json: the Python packages of the image, their hashes and licences (CycloneDX)
	@mkdir -p dist
	$(BIN)/python deploy/sbom.py > dist/hypot.cdx.json

image-environment: ## Install what the image has into build/image, with hashes, and print its size
	$(PYTHON) deploy/environment.py build/image

sizes: ## Print how much each way to install hypot brings; fails above the bar. ONLY="hypot hypot[run]" selects some
	@$(PYTHON) deploy/sizes.py $(foreach each,$(ONLY),'$(each)')

clean: ## Remove everything that the targets created
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
