package vm

// Change is how a scenario makes the disk of another root than the suite's.
type Change struct {
	// Name is the cache's word for it, Key what Build depends on beside the suite's root and its repository, and the
	// source.
	Name string
	Key  []any
	// From is the suite whose source of rdma-core Build is given.
	From Suite
	// Build changes the root in a directory, which is a copy. Its only package source is the signed repository
	// inside it.
	Build func(root string, source Source) error

	source  Source
	foreign *Foreign
}

// settle gets the source.
func (ch *Change) settle(c *cache) (err error) {
	if ch.foreign != nil {
		return nil
	}
	ch.source, err = c.source(ch.From)
	return err
}
