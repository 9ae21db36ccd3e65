package facts

// verifyCodes are the states that verification tells apart.
func verifyCodes() []Code {
	return []Code{
		{"no-library", "libibverbs is not installed", "rdmactl install --profile inbox"},
	}
}
