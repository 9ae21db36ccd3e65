package bundle

// What a bundle may have at most. A manifest has some 100 bytes a file.
const (
	maxManifest  = 64 << 20
	maxSignature = 64 << 10
	maxContent   = 8<<30 - 1 // what the size of a plain tar header holds
	maxContents  = 200_000
	maxHosts     = 10_000
)
