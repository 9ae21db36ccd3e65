package facts

// Proxy is one setting of a proxy.
type Proxy struct {
	// For is who goes by it: apt, dnf, yum, zypper, or environment (each program that looks there).
	For string `json:"for"`
	// Scheme is that of the addresses it is for: http, https, ftp, socks, or all.
	Scheme string `json:"scheme"`
	// URL is the proxy's address without credentials, empty where one of the others below stands instead.
	URL string `json:"url,omitempty"`
	// Direct says that no proxy is to be used.
	Direct bool `json:"direct,omitempty"`
	// Program is asked for the proxy (Proxy-Auto-Detect of apt).
	Program string `json:"program,omitempty"`
	// Except are the hosts and networks that are reached without a proxy (no_proxy).
	Except []string `json:"except,omitempty"`
	// Host limits it to one host, Repository to one repository.
	Host       string `json:"host,omitempty"`
	Repository string `json:"repository,omitempty"`
	Source     string `json:"source"`
}
