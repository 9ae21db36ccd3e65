package kmod

// lookupError says that a module, or its text, was not found. Of a host in a file most questions end so,
// some eighty for each host, and hardly any answer is printed: the text is made when it is asked for.
type lookupError struct {
	what, name, kernel string // "find module", "mlx5_ib", " of kernel 6.1.0-9-amd64" or empty
	source             string // "modules.dep: " or empty
	err                error
}

func (e *lookupError) Error() string {
	return "cannot " + e.what + " " + e.name + e.kernel + ": " + e.source + e.err.Error()
}

func (e *lookupError) Unwrap() error { return e.err }
