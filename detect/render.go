package detect

import (
	"io"

	"github.com/rdmactl/rdmactl/facts"
)

func Render(w io.Writer, f facts.Facts, color bool) {}
