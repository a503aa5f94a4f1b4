# make build   programs in build/bin, the reference environment in build/venv
# make demo    a trained model's picture inside a byte budget, with a table and pictures in demo/
# make test    build, then every test (those that need a GPU say that they were skipped)
# make asan    what does not need LibTorch, under sanitizers
# make format  clang-format over all sources
# Each installs what is missing: Debian packages (packages.txt) and pinned wheels (requirements.txt).

SHELL := /bin/bash
JOBS ?= $(shell nproc)
VENV := build/venv
PYTHON := $(VENV)/bin/python

.PHONY: build demo test asan format clean packages venv

build: packages venv
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

packages:
	@missing=$$(for p in $$(cat packages.txt); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  echo "installing Debian packages:" $$missing; \
	  sudo=$$([ $$(id -u) = 0 ] || echo sudo); \
	  $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing; \
	fi

venv: $(VENV)/installed
$(VENV)/installed: requirements.txt | packages
	@echo "installing Python wheels into $(VENV) (about 5 GB):"
	@grep -v '^#' requirements.txt
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet -r requirements.txt
	touch $@

demo: build
	$(PYTHON) reports/bench/demo.py

test: build
	ctest --test-dir build --output-on-failure -j $(JOBS)

asan: packages
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS)

format:
	git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format -i

clean:
	rm -rf build demo
