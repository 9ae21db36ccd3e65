package host

// WalkOnly leaves openat2 out, as on kernels before 5.6.
func (r *Rooted) WalkOnly() { r.walkOnly = true }
