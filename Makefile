# make help lists the targets. Everything is set up on first use: build/, .venv/ and .venv-peers/ hold all that is made.

PRESET ?= release
MODEL ?=
VENV := .venv
CMAKE := $(VENV)/bin/cmake
CTEST := $(VENV)/bin/ctest
STAMP := $(VENV)/.requirements-installed
CROSS_STAMP := $(if $(filter cross-% clang,$(PRESET)),$(VENV)/.$(PRESET)-installed)
PEERS_STAMP := $(VENV)/.requirements-peers-installed
BENCH_VENV := .venv-peers
BENCH_STAMP := $(BENCH_VENV)/.installed
BENCH_REQUIREMENTS := requirements/bench.txt requirements/bench-libraries.txt
OTHER_PRESET := $(filter-out release,$(PRESET))
JOBS ?= $(shell nproc)
PYTHON ?=
MINUTES ?= 2
BUDGET ?= 60
DIST ?= $(foreach processor,x86_64 aarch64 riscv64,$(processor) $(processor)-cuda $(processor)-opencl) x86_64-static aarch64-static
WHEELS ?= $(filter x86_64 aarch64,$(DIST))
GPU_TESTS := device.calls device.dynamic device.every_kernel device.opencl_faults kernel.quantize kernel.dequantize kernel.consistency kernel.unsupported concurrency.plugins
PTX_TESTS := ptx.parser ptx.memory ptx.operations ptx.interpreter ptx.driver device.cuda_faults device.cubins

.PHONY: help demo test docs peers wheel wheels gpu ptx coverage fuzz lint size bench tune mutants reliability packages dist dist-check debian debian-source gcc14 recipes release build setup clean

help:
	@echo "make demo [MODEL=folder or file]     quantize a model to int8, restore it, compare; then to every type"
	@echo "make test [PRESET=release]          build and run every test (presets: release debug asan-ubsan tsan i8 clang"
	@echo "                                    cross-aarch64 cross-riscv64: under an emulator)"
	@echo "make docs                           build the site of all documentation, look at it in Chromium: build/docs/html"
	@echo "make peers                          install PyTorch and others (5 GB), compare qdq with every peer"
	@echo "make wheel [PYTHON=python3.12]      the Python package as a wheel and as sources: build/wheels"
	@echo "make wheels [WHEELS=aarch64]        wheels of x86_64 and aarch64 for CPython 3.11 and later, tried in 3.11, 3.13,"
	@echo "                                    free-threaded 3.13 and 3.14, under an emulator (as root)"
	@echo "make gpu                            build the device targets, run them without a GPU and on GPUs that are there"
	@echo "make ptx                            run all cases of CUDA's kernels by the interpreter of their PTX (9 minutes)"
	@echo "make coverage                       which lines of the product's C++ the tests execute"
	@echo "make fuzz [MINUTES=2]               run the fuzzers under ASan and UBSan (installs clang 19)"
	@echo "make lint                           clang-format, compiler's warnings, clang-tidy, cppcheck; plain words"
	@echo "make size                           bytes of kernels and of programs that link a part of them: docs/size.md"
	@echo "make bench                          install PyTorch and other peers (6 GB), compare speeds with theirs, with"
	@echo "                                    hand-written loops and copies: bench/results/<cpu>-<target>.html (12 minutes)"
	@echo "make tune [BUDGET=60] [TARGET=] [KERNELS=regex]"
	@echo "                                    look for faster parameters of kernels, for this machine (minutes)"
	@echo "make mutants [ONLY=regex]           plant faults in the code, one at a time: a test must fail for each"
	@echo "make reliability [MINUTES=2]        test, ptx, lint, coverage, mutants, fuzz: then docs/reliability.md (hours)"
	@echo "make packages                       .deb and .tar.gz in build/packages, tried in a clean Debian (as root)"
	@echo "make dist [DIST='x86_64 aarch64-cuda']"
	@echo "                                    archives for each processor and device: build/dist; x86_64-static and"
	@echo "                                    aarch64-static have the command line in one file, for any Linux"
	@echo "make dist-check [DIST=x86_64]       the same archives twice: their bytes are compared"
	@echo "make debian-source                  Debian's source package alone: build/debian"
	@echo "make debian                         build Debian's source package in Debian unstable, lintian, try it (as root)"
	@echo "make gcc14                          build by Debian 13's GCC 14, and verify (as root)"
	@echo "make recipes                        try the recipes of Conan, conda and vcpkg (packaging/)"
	@echo "make release                        wheels, packages, dist and Debian's sources, with checksums and an SBOM:"
	@echo "                                    build/release-files (as root)"
	@echo "make build                          build everything into build/\$$PRESET"
	@echo "make clean                          remove build/, .venv/ and .venv-peers/"

setup: $(STAMP)

$(STAMP): requirements/base.txt requirements/model.txt tools/setup.sh
	tools/setup.sh $(VENV)
	@touch $@

# What a purpose of tools/setup.sh needs beyond that.
$(VENV)/.%-installed: tools/setup.sh $(STAMP)
	tools/setup.sh $(VENV) $*
	@touch $@

$(VENV)/.gpu-installed: requirements/gpu.txt
$(VENV)/.coverage-installed: requirements/coverage.txt
$(VENV)/.docs-installed: requirements/docs.txt
$(VENV)/.lint-installed: requirements/lint.txt
$(VENV)/.wheel-installed: requirements/wheel.txt
$(VENV)/.static-installed: requirements/static.txt
$(VENV)/.recipes-installed: requirements/recipes.txt
$(VENV)/.release-installed: requirements/release.txt

build: $(STAMP) $(CROSS_STAMP)
	@$(CMAKE) --preset $(PRESET) --log-level=WARNING
	@$(CMAKE) --build build/$(PRESET)

# A build of its own, with the kernels of two targets, unless there is one with all of them.
DEMO_PRESET = $(if $(wildcard build/$(PRESET)/cli/qdq),$(PRESET),$(patsubst release,demo,$(PRESET)))
demo: $(STAMP) $(CROSS_STAMP)
	@$(CMAKE) --preset $(DEMO_PRESET) --log-level=WARNING
	@$(CMAKE) --build build/$(DEMO_PRESET) --target qdq_cli
	cli/demo.sh $(VENV)/bin/python build/$(DEMO_PRESET) "$(or $(MODEL),$$($(VENV)/bin/python tools/demo_model.py))"

test: build
	@rm -f build/$(PRESET)/tests.xml
	$(CTEST) --preset $(PRESET) --parallel $(JOBS) --output-junit $(CURDIR)/build/$(PRESET)/tests.xml
	@$(VENV)/bin/python tools/test_figures.py build/$(PRESET)/tests.xml \
		build/reliability/tests$(patsubst %,-%,$(OTHER_PRESET)).json "make test$(patsubst %, PRESET=%,$(OTHER_PRESET))"

docs: $(VENV)/.docs-installed
	@$(VENV)/bin/python tools/docs.py
	@$(VENV)/bin/python tools/check_docs.py --screenshots build/docs/screenshots

$(PEERS_STAMP): requirements/peers.txt $(STAMP)
	@echo "Installing PyTorch, torchao and compressed-tensors into $(VENV)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/peers.txt
	@touch $@

peers: $(PEERS_STAMP) build
	$(CTEST) --preset $(PRESET) --label-regex peers --verbose

wheel: $(VENV)/.wheel-installed
	@$(CMAKE) --preset $(PRESET) --log-level=WARNING
	@$(CMAKE) --build build/$(PRESET) --target qdq_cli qdq_compat_aclnn
	$(VENV)/bin/python tools/wheels.py build/$(PRESET) build/wheels $(PYTHON)
	$(VENV)/bin/python tools/try_wheel.py build/wheels $(or $(PYTHON),$(VENV)/bin/python)
	$(VENV)/bin/python -m build --sdist --no-isolation --outdir build/wheels

# Over the builds of make dist.
wheels: $(VENV)/.wheel-installed $(VENV)/.wheels-installed
	$(MAKE) dist DIST='$(WHEELS)'
	tools/wheels.sh $(WHEELS)
	$(VENV)/bin/python -m build --sdist --no-isolation --outdir build/wheels

# The device targets' part of tests that take every target, and what only they have; CUDA's on tests/ptx, too.
gpu: $(VENV)/.gpu-installed
	@$(CMAKE) --preset gpu --log-level=WARNING
	@$(CMAKE) --build build/gpu --target $(GPU_TESTS) $(PTX_TESTS) qdq_ptx_driver device.decompress_text qdq_shared qdq_gpu_bench qdq_cli qdq_compat_aclnn
	GTEST_FILTER='*opencl*:*Opencl*:*cuda*:*device_target*:Plugins.*:Ptx*' $(CTEST) --preset gpu --parallel $(JOBS) \
		--tests-regex "^($$(echo $(GPU_TESTS) 'ptx\..*' 'oclgrind\..*' api.symbols device.cuda_architectures device.kernel_text device.opencl_driver device.ptx device.size device.verify_opencl schedules.invariance | tr ' ' '|'))$$"

# All cases of CUDA's kernels on tests/ptx.
ptx: $(VENV)/.gpu-installed
	@$(CMAKE) --preset gpu --log-level=WARNING
	@$(CMAKE) --build build/gpu --target qdq_ptx_driver device.dynamic kernel.quantize kernel.dequantize
	QDQ_TEST_THIN=1 $(CTEST) --preset gpu --tests-regex '^ptx\.(quantize|dequantize|dynamic)$$' --output-junit $(CURDIR)/build/gpu/ptx.xml
	@$(VENV)/bin/python tools/ptx_figures.py build/gpu/ptx.xml build/gpu build/reliability/ptx.json "make ptx"

coverage: $(VENV)/.coverage-installed
	@$(CMAKE) --preset coverage --log-level=WARNING
	@$(CMAKE) --build build/coverage
	@find build/coverage -name '*.gcda' -delete
	$(CTEST) --preset coverage --parallel $(JOBS)
	$(VENV)/bin/python tools/coverage.py build/coverage

fuzz: $(VENV)/.fuzz-installed
	@$(CMAKE) --preset fuzz --log-level=WARNING
	@$(CMAKE) --build --preset fuzz
	$(VENV)/bin/python tools/fuzz.py --build build/fuzz --minutes $(MINUTES)

lint: $(VENV)/.lint-installed
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build build/release --target qdq_objects qdq_kernels
	$(VENV)/bin/python tools/lint.py

size: $(VENV)/.gpu-installed
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build build/release
	@$(CMAKE) --preset gpu --log-level=WARNING
	@$(CMAKE) --build build/gpu --target qdq_shared
	@$(VENV)/bin/python tools/size.py --build build/release --devices build/gpu --write docs/size.md

$(BENCH_STAMP): $(BENCH_REQUIREMENTS) requirements/base.txt requirements/peers.txt tools/setup_bench.sh
	tools/setup_bench.sh $(BENCH_VENV)
	@touch $@

bench: $(BENCH_STAMP) build
	$(VENV)/bin/python bench/run.py --binary build/$(PRESET)/bench/qdq_kernels_bench

tune: $(STAMP)
	@$(CMAKE) --preset $(PRESET) --log-level=WARNING
	@$(CMAKE) --build build/$(PRESET) --target qdq_generators qdq_shared qdq_measure_kernel
	$(VENV)/bin/python tools/tune.py --build build/$(PRESET) --budget $(BUDGET) $(if $(TARGET),--target '$(TARGET)') \
		$(if $(KERNELS),--kernels '$(KERNELS)')

mutants: $(STAMP)
	@$(VENV)/bin/python tools/mutants.py $(if $(ONLY),--only '$(ONLY)')

reliability: test ptx lint coverage mutants fuzz
	$(VENV)/bin/python tools/reliability.py

# A build for /usr, with the generators of build/release.
packages: $(VENV)/.packages-installed
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build build/release --target qdq_generators
	@$(CMAKE) --preset packages --log-level=WARNING
	@$(CMAKE) --build build/packages
	$(VENV)/bin/cpack --config build/packages/CPackConfig.cmake -B build/packages
	tools/clean_root.sh build/packages

# Compilers for other processors are installed for the archives that need them. The generators are those of build/release.
dist: $(STAMP) $(foreach processor,aarch64 riscv64,$(if $(findstring $(processor),$(DIST)),$(VENV)/.cross-$(processor)-installed)) \
	$(if $(findstring static,$(DIST)),$(VENV)/.static-installed)
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build build/release --target qdq_generators
	tools/dist.sh $(CURDIR)/$(CMAKE) $(CURDIR)/build/release/generators/qdq_generators $(DIST)

# Twice the same bytes.
dist-check: dist
	rm -rf build/dist-first
	mv build/dist build/dist-first
	$(MAKE) dist
	diff build/dist-first/SHA256SUMS build/dist/SHA256SUMS

debian-source: $(STAMP)
	tools/debian_source.sh

debian: debian-source $(VENV)/.packages-installed
	tools/debian.sh

gcc14: $(VENV)/.gcc14-installed
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build build/release --target qdq_generators
	tools/gcc14.sh $(CURDIR)/build/release/generators/qdq_generators

recipes: $(VENV)/.recipes-installed
	@$(CMAKE) --preset release --log-level=WARNING
	@$(CMAKE) --build build/release --target qdq_generators
	$(CTEST) --preset release --tests-regex '^install.recipes$$'

# All that is published. CONTRIBUTING.md has the steps around it.
release: wheels packages dist debian-source $(VENV)/.release-installed
	$(VENV)/bin/python tools/release.py build build/release-files

clean:
	rm -rf build $(VENV) $(BENCH_VENV)
