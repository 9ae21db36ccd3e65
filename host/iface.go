package host

var (
	_ Writer = (*Live)(nil)
	_ Writer = (*Rooted)(nil)
	_ Writer = (*DryRun)(nil)
	_ Reader = (*Recorder)(nil)
	_ Reader = (*Replay)(nil)
)
