package facts

// planCodes are the reasons and warnings of the planner.
func planCodes() []Code {
	return []Code{
		{"no-rdma-hardware", "no card that can do RDMA was found", "look at `rdmactl detect`; `--profile inbox` installs the stack all the same, `--profile soft` adds Soft-RoCE, `--card GEN` states a card that cannot be seen"},
		{"not-in-matrix", "the matrix says nothing about this stack yet", "name another stack or profile"},
	}
}
