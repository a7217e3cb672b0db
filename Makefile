# A thin layer over CMake; `make help` lists what there is.
#   PREFIX=/usr/local   where `make install` goes (DESTDIR is honoured)
#   BUILD=build         the build folder of `make`, `make test`, `make install`
#   JOBS=N              parallel jobs (default: the machine's cores)
#   PART=K/N            with `make test`: only the Kth of N parts
#   N=60 SEED=S         with `make mutation`: how many mutants, and which (default: the commit's hash); BUDGET=SECONDS: then it stops
#   SLICE=K/N           with `make nightly`: only the Kth of N slices
#   ARCHS=all           GPU code for every architecture (or ARCHS="sm_80 sm_90"); else for this machine's GPU, or for one
PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc)
CMAKE_ARGS ?=
ARCHS ?=

# The make that CMake calls is not told of this one.
APART = env -u MAKELEVEL -u MAKEFLAGS -u MFLAGS

.PHONY: all help configure deps demo demo-python test check-quick bench figures wheel wheel-here install debug asan ubsan tsan fuzz mutants mutation nightly \
        format format-check clean

all: configure
	@$(APART) cmake --build $(BUILD) -j $(JOBS) --target all peers

help:
	@echo "make               build $(BUILD)/cohort and $(BUILD)/libcohort.so"
	@echo "make demo          count k-mers of real reads, checked against jellyfish; intersect real sets; the quick table (installs what is missing)"
	@echo "make demo-python   three examples of the Python package, with pictures (builds the wheel; numpy comes from PyPI)"
	@echo "make ARCHS=all     GPU code for every architecture, as make install has it; else for this machine's GPU, or for one"
	@echo "make test          every test on every device that is here (installs what is missing; PART=K/N: a part)"
	@echo "make check-quick   the short form alone, for people at work"
	@echo "make bench         what this machine can do at most"
	@echo "make figures       tables and drawings of README and docs, from the figures in bench/figures"
	@echo "make deps          install what is missing from Debian's packages"
	@echo "make wheel         the Python package, $(BUILD)/wheel/*.whl"
	@echo "make install       headers, libraries, tool, manual page under PREFIX=$(PREFIX)"
	@echo "make debug | asan | ubsan | tsan | fuzz    other builds, in build/NAME, and their tests"
	@echo "make mutants       each known bug, put back, must be caught"
	@echo "make mutation      random bugs, N of them (60): how many the tests catch (SEED, BUDGET; goes on where it stopped)"
	@echo "make nightly       all that CI draws a part of, in slices of an hour (SLICE=K/N; goes on where it stopped)"
	@echo "make format        clang-format every C and CUDA file (format-check: only tell)"
	@echo "make clean         remove $(BUILD)"

configure:
	@scripts/deps.sh --check
	@BUILD=$(BUILD) ARCHS="$(ARCHS)" scripts/configure.sh $(CMAKE_ARGS)

deps:
	@scripts/deps.sh

demo: deps
	@scripts/deps.sh --check
	@BUILD=$(BUILD) ARCHS="$(ARCHS)" scripts/configure.sh --tool $(CMAKE_ARGS)
	@$(APART) cmake --build $(BUILD) -j $(JOBS) --target cohort_cli cpu_peers
	@$(APART) examples/demo.sh $(BUILD)

demo-python: wheel-here
	@$(APART) examples/demo-python.sh $(BUILD)

test:
	@$(APART) BUILD=$(BUILD) JOBS=$(JOBS) PART=$(PART) ARCHS="$(ARCHS)" scripts/test.sh

check-quick:
	@$(APART) BUILD=$(BUILD) JOBS=$(JOBS) PART=$(PART) ARCHS="$(ARCHS)" scripts/test.sh --quick

bench: all
	@$(BUILD)/cohort bench limits

# Pages that say, in a comment, which recorded figures they show.
figures: all
	@$(BUILD)/cohort bench pages $$(grep -l '^<!-- figures:' README.md docs/*.md docs/measurements/*.md)

# The library goes in as it was built: with the GPU's code if nvcc was found; of `make wheel` for every GPU.
wheel: ARCHS := $(or $(ARCHS),all)
wheel wheel-here: configure
	@$(APART) cmake --build $(BUILD) -j $(JOBS) --target cohort_static
	@$(APART) BUILD=$(BUILD) scripts/wheel.sh

# What is installed runs on every GPU.
install: ARCHS := $(or $(ARCHS),all)
install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

debug asan ubsan tsan:
	@$(APART) scripts/variant.sh $@ $(JOBS)

fuzz:
	@$(APART) scripts/fuzz.sh $(JOBS)

mutants: all
	@$(APART) tests/mutants/run.sh $(BUILD)

mutation:
	@command -v python3 >/dev/null || { echo "make mutation: python3 is missing"; exit 1; }
	@$(APART) JOBS=$(JOBS) python3 scripts/mutation.py --jobs $(JOBS) --n $(or $(N),60) $(if $(SEED),--seed $(SEED)) $(if $(BUDGET),--budget $(BUDGET))

nightly: all
	@$(APART) BUILD=$(BUILD) JOBS=$(JOBS) scripts/nightly.sh $(or $(SLICE),1/1)

format:
	@scripts/format.sh

format-check:
	@scripts/format.sh --check

clean:
	@rm -rf $(BUILD)
