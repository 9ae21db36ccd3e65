package install

// words are how a package manager's own commands are called, for hints.
type words struct {
	mend    string // what finds and mends a broken package database
	refresh string // what reads the repositories anew
}

func wordsOf(manager string) words {
	switch manager {
	case "dnf":
		return words{"`dnf check` shows them; `rpm --rebuilddb` and `dnf distro-sync` mend most", "dnf makecache"}
	case "yum":
		return words{"`package-cleanup --problems` shows them; `yum-complete-transaction` mends most", "yum makecache"}
	case "zypper":
		return words{"`zypper verify` shows and mends them", "zypper refresh"}
	}
	return words{"`dpkg --audit` shows them; `dpkg --configure -a` and `apt-get -f install` mend most", "apt-get update"}
}
