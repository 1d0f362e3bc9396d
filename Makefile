# The two commands of the README are `make run` and `make test`; both do all the set-up themselves.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

# Bytecode is kept, whatever the shell says, and outside the tree: a run starts hundreds of processes, and each would
# compile its modules again.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/bytecode

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
PACKAGES := wire fakes router harness reports gates conftest.py
OLD := $(BIN)/python -m gates.mutants.before_fix
NEW := $(BIN)/kvgate-router

# Runs a stage and says how long it took.
stage = @printf '\n== %s\n' '$(1)'; start=$$SECONDS; $(2); printf '== %s: %s s\n' '$(1)' "$$((SECONDS - start))"

.PHONY: venv bytecode run test lint unit gates proof prove real load fuzz bench clean

venv: .venv/made

.venv/made: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kvgate needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[real,dev]'
	touch $@

# For the router, too, which writes none where it is under test.
bytecode: venv
	@$(BIN)/python -m compileall -q $(PACKAGES)

# The main job: the review's before/after table on the fakes, then the same handoff on a real llama-server.
run: bytecode
	$(call stage,before and after the fix,$(BIN)/kvgate ab --old '$(OLD)' --new '$(NEW)' scenarios/hybrid_kvshare_route)
	$(call stage,handoff end to end on a real llama-server,$(BIN)/kvgate run scenarios/hybrid_e2e --real --router '$(NEW)')

test: venv lint unit gates real

lint: venv
	$(call stage,lint,$(BIN)/ruff check $(PACKAGES) && $(BIN)/ruff format --check $(PACKAGES))
	$(call stage,types,$(BIN)/mypy)
	$(call stage,layers,$(BIN)/lint-imports)

unit: bytecode
	$(call stage,unit tests,$(BIN)/pytest wire fakes router harness reports -n $(WORKERS) -q -m 'not real')

gates: bytecode
	$(call stage,gates,$(BIN)/pytest gates -n $(WORKERS) -q -m 'not real')

# Every check turns red on some mutant: what CI runs stops a check at its first red; the full cross writes the page.
proof: bytecode
	$(call stage,proof,$(BIN)/kvgate prove -n $(WORKERS))

prove: bytecode
	$(call stage,full proof,$(BIN)/kvgate prove --full -n $(WORKERS) --page docs/proof.md)

real: bytecode
	$(call stage,real set,KVGATE_REAL=1 $(BIN)/pytest harness gates -n $(WORKERS) -q -m real)

# The whole campaigns; a tenth of each is among the gates.
load: bytecode
	$(call stage,load,$(BIN)/python -m gates.load)
	$(call stage,state of 1 GiB,$(BIN)/python -m gates.large_state)

# Ten thousand malformed inputs for each protocol; a tenth of it is among the gates.
fuzz: bytecode
	$(call stage,fuzz of the fake decoder,$(BIN)/python -m gates.fuzz.http --count 10000)
	$(call stage,fuzz of the router,$(BIN)/python -m gates.fuzz.http --count 10000 --against router)
	$(call stage,fuzz of the Hydra codecs and the fake engine,$(BIN)/python -m gates.fuzz.hydra --count 10000)

bench: bytecode
	$(BIN)/python -m harness.bench --write docs/benchmarks.md

clean:
	rm -rf .venv build runs .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
