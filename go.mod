module github.com/rdmactl/rdmactl

go 1.26.8

require (
	github.com/ProtonMail/go-crypto v1.5.2
	github.com/cavaliergopher/rpm v1.3.0
	github.com/ebitengine/purego v0.11.3
	github.com/google/go-cmp v0.7.0
	github.com/google/jsonschema-go v0.4.3
	github.com/hashicorp/go-version v1.9.0
	github.com/klauspost/compress v1.20.4
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	github.com/ulikunitz/xz v0.5.17
	github.com/xi2/xz v0.0.0-20171230120015-48954b6210f8
	golang.org/x/sys v0.50.0
	golang.org/x/term v0.48.0
	gopkg.in/yaml.v3 v3.0.1
	pault.ag/go/debian v0.21.4
)

require (
	github.com/cloudflare/circl v1.6.5 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
	pault.ag/go/topsort v0.1.1 // indirect
)
