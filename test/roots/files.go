package roots

import (
	"os"
	"testing"

	"github.com/rdmactl/rdmactl/test/internal/cache"
)

func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rpmReposOf is the directory of the rpm repositories, for their keys.
func rpmReposOf(t testing.TB) string {
	t.Helper()
	c, err := cache.Open()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := rpmRepos(c)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
