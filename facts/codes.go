package facts

import "slices"

// Code is one entry of the registry of reason and finding codes: a slug that plans, checks and
// findings carry, and that `rdmactl explain` explains.
type Code struct {
	Code    string `json:"code"`
	Summary string `json:"summary"` // what it means, one line
	Remedy  string `json:"remedy"`  // what to do, one line
}

// Codes returns the whole registry: the codes of the planner, of verification, and of errors.
func Codes() []Code {
	return slices.Concat(planCodes(), verifyCodes(), faultCodes())
}

// LookupCode finds one entry.
func LookupCode(code string) (Code, bool) {
	for _, c := range Codes() {
		if c.Code == code {
			return c, true
		}
	}
	return Code{}, false
}
