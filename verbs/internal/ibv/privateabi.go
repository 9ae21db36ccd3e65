package ibv

import (
	"debug/elf"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// PrivateABI returns NN of the version IBVERBS_PRIVATE_NN that a libibverbs defines. Providers are
// built for exactly one such number (it is in their file name, -rdmavNN.so), and libibverbs loads no
// others.
func PrivateABI(file io.ReaderAt) (int, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return 0, fmt.Errorf("cannot read ELF file: %w", err)
	}
	defer f.Close()
	versions, err := f.DynamicVersions()
	if err != nil {
		return 0, fmt.Errorf("cannot read symbol versions: %w", err)
	}
	for _, v := range versions {
		if nn, ok := strings.CutPrefix(v.Name, "IBVERBS_PRIVATE_"); ok {
			return strconv.Atoi(nn)
		}
	}
	return 0, fmt.Errorf("no version IBVERBS_PRIVATE_NN among %d", len(versions))
}
