package vm_test

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/vm"
)

func TestMain(m *testing.M) { os.Exit(vm.Main(m)) }
