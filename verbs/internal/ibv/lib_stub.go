//go:build !linux || !(amd64 || arm64) || noverbs

package ibv

// Load returns ErrNotBuilt: this binary was built without verbs.
func Load(int) (Lib, error) { return nil, ErrNotBuilt }
