//go:build !linux || !(amd64 || arm64) || noverbs

package ibv

import (
	"errors"
	"testing"
)

func TestLoadOfAStub(t *testing.T) {
	if lib, err := Load(0); lib != nil || !errors.Is(err, ErrNotBuilt) {
		t.Errorf("Load = %v, %v", lib, err)
	}
}
