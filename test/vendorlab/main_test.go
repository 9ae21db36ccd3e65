package vendorlab_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/vendorlab"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if why := vendorlab.Missing(); why != "" {
		fmt.Println("vendorlab: all tests of vendor repositories were skipped: " + why)
	}
	os.Exit(code)
}
