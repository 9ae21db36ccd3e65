package host

// WalkOnly leaves openat2 out, as on kernels before 5.6.
func (r *Rooted) WalkOnly() { r.walkOnly = true }

// TempName and IsTemp are the names of files that are not yet written whole.
var (
	TempName = tempName
	IsTemp   = isTemp
)
