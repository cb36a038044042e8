# The few commands of this repository; the work is in scripts/, Cargo and Gradle.
GRADLE = scripts/gradle
SHELL = bash
.SHELLFLAGS = -euo pipefail -c
.PHONY: help demo jar tool test fuzz model golden lint baseline flink-tests bench bench-door clean-local

help:
	@echo 'make demo         the flights job: checkpoint, crash, restore, compare (a few minutes, first time included)'
	@echo 'make jar          the jar for Flink'\''s lib/, library linked statically (25 minutes the first time on a machine)'
	@echo 'make tool         the command-line tool: one static binary, completions, manual page'
	@echo 'make test         all tests, on the jar that ships (LONG=1: with ten minutes of fuzzing)'
	@echo 'make lint         formatting and lints of Rust and Java'
	@echo 'make baseline     Flink'\''s own tests on Ferrostate and on Flink'\''s RocksDB backend, counts side by side'
	@echo 'make flink-tests  Flink'\''s own test classes, whole and unchanged, with Ferrostate in the place of its backends'
	@echo 'make model        a million random operations on Ferrostate and on the heap, compared one by one'
	@echo 'make fuzz         ten minutes of damaged checkpoints against the tool'\''s readers'
	@echo 'make golden       for a release: snapshots of this version that all later ones must restore'
	@echo 'make bench        microbenchmarks'
	@echo 'make bench-door   those of the JNI door, as ratios (4 minutes; docs/decisions/0002-jni-door.md)'
	@echo 'make clean-local  removes what this clone built; the caches of the machine stay'

demo:
	@scripts/install-tools demo
	@scripts/demo

jar:
	@scripts/install-tools build
	@library=$$(scripts/build-library static) && scripts/check-library "$$library" && $(GRADLE) :java:jar -Plibrary="$$library"
	@ls -1 java/build/libs/ferrostate-[0-9]*.jar

tool:
	@scripts/install-tools build
	@scripts/build-tool

test:
	@scripts/install-tools test
	@scripts/run-tests

lint:
	@scripts/install-tools build
	@scripts/lint

baseline:
	@scripts/install-tools build
	@library=$$(scripts/build-library static) && $(GRADLE) --continue :java:conformance :java:rocksdbBaseline -Plibrary="$$library" || true
	@scripts/baseline

flink-tests:
	@scripts/install-tools test
	@scripts/flink-tests

model:
	@scripts/install-tools build
	@library=$$(scripts/build-library static) && $(GRADLE) :java:model -Plibrary=$$library

fuzz:
	@scripts/install-tools build
	@. scripts/tool-env && FERROSTATE_FUZZ_SECONDS=600 cargo test --release --locked --target "$$TOOL_TARGET" -p ferrostate-formats --test fuzz -- --nocapture

golden:
	@scripts/install-tools build
	@library=$$(scripts/build-library static) && $(GRADLE) :java:golden -Plibrary=$$library

bench: bench-door
	@bench/run handles

bench-door:
	@scripts/install-tools build
	@bench/run door quick

clean-local:
	rm -rf target java/build examples/build bench/build build .gradle
