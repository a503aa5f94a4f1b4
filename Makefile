# make demo      builds two programs, decodes a picture with a trained model under a limit, and writes a table and pictures to demo/
# make tour      builds and opens the window and a report on the files of docs/tour, without LibTorch; downloads Debian packages only
# make build     builds programs in build/bin for one GPU architecture, and the reference environment in build/venv
# make test      builds with tests, then runs all tests; tests that need a GPU skip without one
# make quick     builds the libraries below the planner's programs in build/quick, and runs their tests; for each change
# make library   builds libheadroom for C in build/library/lib, with Debian packages only
# make release   builds programs in build/all-gpus/bin with kernels for all GPU architectures
# make install   installs programs, modules, libheadroom for C and man pages below PREFIX (/usr/local); DESTDIR is a prefix to it
# make debs      makes Debian packages in build/debs: headroom-tools (plans and reports, a few MB) and headroom (decodes)
# make wheel     makes Python wheels in dist; after `make venv` they decode on GPUs too; WHEEL_GPUS=80 names architectures
# make archive   writes the source archive for pip, and the node pack for ComfyUI, to dist
# make asan      builds with sanitizers, without LibTorch and Qt, and runs those tests
# make tsan      builds code that uses threads with ThreadSanitizer, and runs its tests
# make fuzz      runs all readers of files under libFuzzer for SECONDS each (3600)
# make lint      checks format and spelling
# make tidy      runs clang-tidy; slow
# make format    runs clang-format over all sources
# make lock      writes requirements-build.txt from requirements-build.in, with the hashes of every wheel
# Each target installs missing Debian packages (packages*.txt) and pinned wheels (requirements*.txt).
#
# Warnings are errors. If a compiler other than GCC 12 and Clang 16 warns: make build CMAKE_ARGS=-DHEADROOM_WERROR=OFF

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
JOBS ?= $(shell nproc)
CMAKE_ARGS ?=
# Runs one test more at a time than there are processors, because many tests wait. OMP_WAIT_POLICY stops PyTorch's threads from
# waiting in busy loops.
CTEST := OMP_WAIT_POLICY=passive ctest --output-on-failure -j $(shell expr $(JOBS) + 1)
VENV := build/venv
PYTHON := $(VENV)/bin/python

.PHONY: help library demo tour begin build test quick release install debs wheel archive fuzz asan asan-build tsan lock lint tidy format clean packages wheel-packages gui-packages all-packages demo-programs demo-venv venv

help:
	@sed -n 's/^# make /make /p' Makefile

library: packages
	cmake --preset demo -B build/library -DHEADROOM_QUICK=ON $(CMAKE_ARGS)
	cmake --build build/library --target headroom_c -j $(JOBS)

demo: packages
	@echo "demo: compiling, while Python wheels (about 2 GB) are fetched and unpacked"
	$(MAKE) -j 2 demo-programs demo-venv
	$(PYTHON) reports/bench/demo.py

# Without a display, `make tour` writes the window's pages as pictures.
TOUR := $(wildcard docs/tour/*)
tour: gui-packages
	cmake --preset tour $(CMAKE_ARGS)
	cmake --build build/tour --target headroom-gui headroom-report -j $(JOBS)
	mkdir -p build/tour/pages
	build/tour/bin/headroom-report $(TOUR) -o build/tour/pages/report.html
	@if [ -n "$$DISPLAY$$WAYLAND_DISPLAY" ]; then \
	  echo "tour: build/tour/pages/report.html is the report; the window opens"; build/tour/bin/headroom-gui $(TOUR); \
	else \
	  build/tour/bin/headroom-gui $(TOUR) --screenshot build/tour/pages && echo "tour: no display; build/tour/pages/ has the report and the window's pages"; \
	fi

# Compiles the programs that need no wheel while pip downloads wheels.
begin: all-packages
	$(MAKE) -j 2 demo-programs venv

build: begin
	cmake --preset release $(CMAKE_ARGS)
	cmake --build --preset release --target programs -j $(JOBS)

# TESTED_BESIDE=build/asan: also runs the tests of that build, and leaves out tests marked ONCE here, because they run there.
test: begin
	cmake --preset release -DHEADROOM_TESTED_BESIDE=$(abspath $(TESTED_BESIDE)) $(CMAKE_ARGS)
	cmake --build --preset release -j $(JOBS)
	$(CTEST) --test-dir build

# Tests of the planner's core. Needs no Python wheels.
QUICK_TESTS := base graph plan schedule validator search interpreter
quick: all-packages
	@test -f build/quick/build.ninja || cmake --preset quick $(CMAKE_ARGS)
	cmake --build build/quick --target $(addprefix test_,$(QUICK_TESTS)) -j $(JOBS)
	$(CTEST) --test-dir build/quick --progress -L '^($(shell echo $(QUICK_TESTS) | tr ' ' '|'))$$'

release: begin
	cmake --preset all-gpus $(CMAKE_ARGS)
	cmake --build --preset all-gpus --target programs -j $(JOBS)

SECONDS ?= 3600
# Number of fuzzers at a time; 0: all. With more than one per processor, each sees fewer inputs in the same time.
FUZZ_JOBS ?= $(JOBS)
fuzz: all-packages
	cmake --preset asan $(CMAKE_ARGS)
	cmake --build build/asan --target fuzzers -j $(JOBS)
	python3 -B tests/fuzz/run_fuzzers.py --bin build/asan/bin --seconds $(SECONDS) --jobs $(FUZZ_JOBS) \
	  --found build/fuzz/found --faults build/fuzz/faults

# Installs the last build of `make build` or `make test`.
PREFIX ?= /usr/local
install:
	test -f build/build.ninja || $(MAKE) build
	cmake --build build --target programs -j $(JOBS)
	cmake --install build --prefix $(PREFIX)

debs:
	test -f build/build.ninja || $(MAKE) build
	cmake --build build --target programs -j $(JOBS)
	cpack --config build/CPackConfig.cmake -B build/debs

# Needs the Python 3.11 of Debian 12.
WHEEL_GPUS ?= 80
WHEEL_VENV := build/wheel/venv
wheel: $(WHEEL_VENV)/installed
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(WHEEL_VENV)/bin/python .ci/build_wheels.py --gpus '$(WHEEL_GPUS)'
archive: $(WHEEL_VENV)/installed
	$(WHEEL_VENV)/bin/python -B .ci/build_archive.py --out dist
$(WHEEL_VENV)/installed: requirements-wheel.txt | wheel-packages
	python3 -m venv --clear $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/pip install --quiet --require-hashes --no-deps --disable-pip-version-check -r requirements-wheel.txt
	@touch $@

asan-build: all-packages
	cmake --preset asan $(CMAKE_ARGS)
	cmake --build --preset asan -j $(JOBS)
asan: asan-build
	$(CTEST) --test-dir build/asan

# Runs the tests of code that starts threads or that several threads call. Leaves out tests of resident memory, because
# ThreadSanitizer changes it. OMP_NUM_THREADS has the value that plans of ranks expect on two processors.
TSAN_TESTS := cpu exchange gpu_device gpu_session progress session
tsan: all-packages
	cmake --preset tsan $(CMAKE_ARGS)
	cmake --build build/tsan --target $(addprefix test_,$(TSAN_TESTS)) -j $(JOBS)
	OMP_NUM_THREADS=2 $(CTEST) --test-dir build/tsan -L '^($(shell echo $(TSAN_TESTS) | tr ' ' '|'))$$' -E 'warm pages'

# The demo uses an existing build folder. Without one it configures a smaller build.
demo-programs:
	test -f build/build.ninja || cmake --preset demo $(CMAKE_ARGS)
	cmake --build build --target headroom-plan headroom-decode -j $(JOBS)

# $(1): files of package names, one a line.
define install_packages
	@missing=$$(for p in $$(cat $(1)); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing Debian packages:" $$missing; \
	  sudo=$$([ $$(id -u) = 0 ] || echo sudo); \
	  $$sudo apt-get update -q && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -q --no-install-recommends $$missing; \
	fi
endef

packages:
	$(call install_packages,packages.txt)
wheel-packages:
	$(call install_packages,packages.txt packages-wheel.txt)
gui-packages:
	$(call install_packages,packages.txt packages-gui.txt)
all-packages:
	$(call install_packages,packages.txt packages-gui.txt packages-wheel.txt packages-tests.txt)

# $(1): pip's arguments: files that name every wheel with its hash. Prints one line for each wheel. Prints nothing for a minute while
# pip unpacks torch. --no-compile: Python compiles a module at its first import, and most modules are never imported.
define install_wheels
	@test -x $(VENV)/bin/pip || python3 -m venv --clear $(VENV)
	@$(VENV)/bin/pip install --require-hashes --no-deps --no-compile --progress-bar off --disable-pip-version-check $(1) | \
	  sed -u -n -e '/^Requirement already/d' -e 's/^\(Collecting\|  *Downloading\|Installing\|Successfully\)/wheels: &/p'
endef

demo-venv: $(VENV)/demo-installed
$(VENV)/demo-installed: requirements-demo.txt
	$(call install_wheels,-r requirements-demo.txt)
	@touch $@

venv: $(VENV)/installed
$(VENV)/installed: requirements-build.txt | all-packages
	@echo "installing Python wheels into $(VENV) (about 5 GB)"
	$(call install_wheels,-r requirements-build.txt)
	@touch $@ $(VENV)/demo-installed

# Keeps the versions of build/venv. Without build/venv, pip takes the newest versions that fit.
lock:
	@test ! -x $(VENV)/bin/pip || $(VENV)/bin/pip freeze | grep == > build/constraints.txt
	python3 .ci/lock_requirements.py $(if $(wildcard $(VENV)/bin/pip),--constraints build/constraints.txt)

lint:
	git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format --dry-run -Werror
	codespell

# Runs clang-tidy over the sources that need neither LibTorch, CUDA nor Qt; FOLDER=decoder/base/os for a part. Joins several
# sources into one, which takes a fifth of the time. Hides Clang's counts of suppressed warnings.
tidy: all-packages
	cmake --preset tidy $(CMAKE_ARGS)
	sed -n 's/^  "file": "\(.*\)",*$$/\1/p' build/tidy/compile_commands.json | grep -v cmake_pch | \
	  grep -E '/$(or $(FOLDER),(decoder|profiler|planner|reports))/' | \
	  xargs -n 1 -P $(JOBS) clang-tidy --quiet -p build/tidy --warnings-as-errors='*' --checks=-bugprone-suspicious-include \
	  --extra-arg=-idirafter$(shell g++ -print-file-name=include) '--extra-arg=-D__malloc__(x)=' \
	  2>&1 | sed '/^[0-9]* warnings* generated\.$$/d'

format:
	git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format -i

clean:
	rm -rf build demo dist
