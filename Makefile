# rdmactl: build, check, test. `make test` is everything; `make check` is all but fuzzing, the
# roots of package managers and the virtual machines, and needs neither root nor qemu.

GO       ?= go
FUZZTIME ?= 60s
TOOL      = $(GO) tool -modfile=tools/go.mod

.PHONY: build prepare check lint unit race cross generate fuzz roots vm test bench clean

build: bin/rdmactl

bin/rdmactl: FORCE
	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/rdmactl
FORCE:

# What the tests need beyond Go: says what it installs; without root it says what will be skipped.
prepare:
	test/prepare

lint:
	@files=$$($(TOOL) gofumpt -l .); [ -z "$$files" ] || { echo "gofumpt would change:"; echo "$$files"; exit 1; }
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) mod tidy -diff

unit:
	CGO_ENABLED=0 $(GO) test ./...

race:
	CGO_ENABLED=1 $(GO) test -race ./...

cross:
	GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/rdmactl
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./verbs/...
	CGO_ENABLED=0 $(GO) build -tags noverbs -o /dev/null ./cmd/rdmactl

check: lint unit cross

fuzz:
	GO="$(GO)" test/fuzz $(FUZZTIME)

# The real apt, dnf and zypper in roots of their own; RDMACTL_ROOTS=1 is what turns the scenarios on.
roots:
	RDMACTL_ROOTS=1 $(GO) test -count=1 -timeout 40m -v -skip "TestCost|TestBoots" ./test/roots ./test/images ./test/faults ./test/rpmhosts ./test/sidebyside ./test/sourcebuild ./test/bundles

# The whole job on real kernels; RDMACTL_VM=1 is what turns the scenarios on. Two machines at a time, but
# for those that measure: they go first, alone.
vm: build
	RDMACTL_VM=1 RDMACTL_ROOTS=1 $(GO) test -count=1 -timeout 80m -parallel 2 -v ./test/vm
	RDMACTL_VM=1 RDMACTL_ROOTS=1 $(GO) test -count=1 -timeout 40m -parallel 2 -v -run TestBoots ./test/rpmhosts

test: prepare check race roots vm fuzz

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean:
	rm -rf bin
