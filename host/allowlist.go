package host

import (
	"path"
	"strings"
)

// solverOptions are what the solver of dnf is told, and what else that of dnf and of dnf5, and of yum 3; none of
// them runs anything.
const (
	solverOptions = "-C --setopt=gpgcheck=1 --setopt=clean_requirements_on_remove=0 --setopt=keepcache=1"
	dnfOptions    = solverOptions + " --setopt=*.gpgcheck=1 --setopt=*.skip_if_unavailable=1 --setopt=install_weak_deps=0 --setopt=strict=1 --setopt=color=never"
	yumOptions    = solverOptions + " --setopt=skip_missing_names_on_install=0 --color=never --disableplugin=refresh-packagekit"
)

// formsOf is the list of read-only commands whose options can be told one by one.
func formsOf(program string) []form {
	switch program {
	case "uname":
		return []form{{letters: "armsvnpio"}}
	case "arch", "lsmod", "ibv_devices", "show_gids", "nproc", "pveversion":
		return []form{{}}
	case "mount":
		return []form{{letters: "l"}} // without arguments it lists
	case "lsns":
		return []form{{letters: "lnru", valued: "-t -o -p"}}
	case "lscpu":
		return []form{{letters: "aepJ"}}
	case "hostname":
		return []form{{letters: "fs"}} // an operand would set the name
	case "id":
		return []form{{letters: "ugGnr", operand: anyWord}}
	case "getent":
		// hosts and ahosts would ask name servers
		return []form{{operand: anyWord, first: "passwd group services protocols", least: 1}}
	case "dpkg-query":
		return []form{{
			flags: "-W --show -l --list -s --status -L --listfiles -S --search", valued: "-f --showformat",
			prefix: "--showformat= -f=", operand: anyWord, need: "-W --show -l --list -s --status -L --listfiles -S --search",
		}}
	case "dpkg":
		return []form{
			{flags: "--print-architecture --print-foreign-architectures --audit -C --get-selections", need: "--print-architecture --print-foreign-architectures --audit -C --get-selections"},
			{
				flags:   "-s --status -l --list -L --listfiles -S --search -V --verify",
				operand: anyWord, need: "-s --status -l --list -L --listfiles -S --search -V --verify",
			},
		}
	case "rpm":
		// no -p with a URL, no macros (-D, -E run shells), no --pipe, no other root
		return []form{{
			letters: "qafilpRcdsv", flags: "--query --all --file --info --list --state --requires --provides --conflicts --obsoletes --scripts --triggers --changelog --last --nosignature --nodigest --noplugins",
			valued: "--qf --queryformat --whatprovides --whatrequires", prefix: "--qf= --queryformat= --whatprovides= --whatrequires=", operand: rpmWord,
			need: "-q -qa -qf -qi -ql -qp -qR -qs -qc -qd -qpi -qpl -qpR -qip -qlp --query -qv",
		}}
	case "lspci":
		// -M and -H probe the bus, -xxx crashes some devices, -q asks the network
		return []form{{letters: "nvkDmtP", flags: "-x", valued: "-s -d"}}
	case "modinfo":
		return []form{{letters: "adlpn0", valued: "-F --field -k", prefix: "--field=", operand: anyWord, least: 1}}
	case "dkms":
		return []form{{operand: noSet, first: "status", least: 1, valued: "-m -v -k"}}
	case "ibv_devinfo":
		return []form{{letters: "vl", valued: "-d -i"}}
	case "ibstat":
		return []form{{letters: "lspv", operand: device}}
	case "ibstatus":
		return []form{{operand: device}}
	case "ibdev2netdev":
		return []form{{letters: "v"}}
	case "systemctl":
		return []form{{
			flags:  "--no-pager --plain --no-legend --all -a --full -l --failed --value -q --quiet",
			valued: "-p --property -t --type", prefix: "--type= --state= --property= --output= --lines=",
			operand: anyWord, first: "is-active is-enabled is-failed is-system-running show list-units list-unit-files cat status get-default list-dependencies", least: 1,
		}}
	case "systemd-detect-virt":
		return []form{{letters: "cvqr", flags: "--container --vm --quiet --private-users --chroot"}}
	case "mokutil":
		return []form{{flags: "--sb-state --list-enrolled --list-new --list-delete --list-sbat-revocations --pk --kek --db --dbx -l -N", need: "--sb-state --list-enrolled --list-new --list-delete --list-sbat-revocations --pk --kek --db --dbx -l -N"}}
	case "findmnt":
		return []form{{letters: "nJlrPRDbeu", valued: "-o -t -T -S -M -O --output --target --types --source", prefix: "--output= --target= --types= --source=", operand: anyWord}}
	case "df":
		return []form{{letters: "hPkTialH", valued: "-B -x -t", prefix: "--output= --block-size=", flags: "--output", operand: anyWord}}
	case "lsblk":
		return []form{{letters: "abdfilmnoprtJPS", valued: "-o", operand: anyWord}}
	case "ldconfig":
		return []form{{flags: "-p -N -X", need: "-p"}}
	case "apt-cache":
		return []form{{operand: anyWord, first: "policy show showpkg depends rdepends madison search pkgnames", least: 1, letters: "n", flags: "--names-only --installed --no-all-versions"}}
	case "dnf", "dnf5":
		// -C reads what is at hand and fetches nothing.
		return []form{
			{flags: "-q --available --latest-limit=1 " + dnfOptions, valued: "--qf", operand: packageWord, first: "repoquery", need: "-C", least: 2},
			{flags: "-q --enabled --showduplicates " + dnfOptions, operand: packageWord, first: "list repolist", need: "-C", least: 1},
			// The solver: it prints what it would do, and answers its own question with no.
			{flags: "--assumeno " + dnfOptions, operand: solverWord, first: "install remove", need: "--assumeno", least: 2},
			{flags: "--assumeno --action=install --action=remove " + dnfOptions, operand: solverWord, first: "do", need: "--assumeno", least: 2},
		}
	case "yum":
		return []form{
			{flags: "-q --showduplicates " + yumOptions, operand: packageWord, first: "list repolist", need: "-C", least: 1},
			{flags: "--assumeno " + yumOptions, operand: solverWord, first: "install remove", need: "--assumeno", least: 2},
		}
	case "zypper":
		// --no-refresh fetches no newer lists; a list that was never fetched it would still fetch.
		return []form{
			{flags: "--no-refresh --non-interactive", operand: packageWord, first: "info", need: "--no-refresh", least: 2},
			{flags: "--no-refresh --non-interactive --xmlout --details --match-exact --type", operand: packageWord, first: "repos search", need: "--no-refresh", least: 1},
			{
				flags:   "--no-refresh --non-interactive --xmlout --dry-run --no-recommends --auto-agree-with-licenses --oldpackage --allow-vendor-change --no-clean-deps",
				operand: zypperWord, first: "install remove", need: "--dry-run", least: 2,
			},
		}
	case "apt-get":
		// The solver and the addresses it would fetch from: neither changes anything nor needs root.
		return []form{{
			flags:   "-s --print-uris -y --no-install-recommends --no-allow-unauthenticated --no-auto-remove --allow-downgrades --fix-broken",
			operand: anyWord, first: "install remove purge", need: "-s --print-uris", least: 1,
		}}
	case "apt-config":
		return []form{{operand: anyWord, first: "dump", least: 1, flags: "--no-empty"}}
	case "apt-mark":
		return []form{{operand: anyWord, first: "showhold showholds showmanual showauto", least: 1}}
	case "update-alternatives":
		return []form{{flags: "--display --query --list --get-selections", operand: anyWord, need: "--display --query --list --get-selections"}}
	case "dpkg-divert":
		return []form{{flags: "--list --listpackage --truename", operand: anyWord, need: "--list --listpackage --truename"}}
	case "objdump":
		return []form{{letters: "pThxfw", operand: anyWord, least: 1}}
	case "readelf":
		return []form{{letters: "dnhsSVWlaA", valued: "-p -x", operand: anyWord, least: 1}}
	case "ofed_info":
		return []form{{flags: "-s -n -l"}}
	case "dmesg":
		// -c and -C clear the ring, -D, -E and -n change the console, -w does not end
		return []form{{
			letters: "TxtkureJPd", flags: "--nopager --ctime --decode --kernel --notime --json", valued: "-l -f",
			prefix: "--level= --facility= --time-format= --color= --since= --until=",
		}}
	case "journalctl":
		return []form{{
			letters: "kbqxrae", flags: "--no-pager --dmesg --boot --quiet --reverse --all --no-hostname --utc --no-tail",
			valued: "-u -n -o -p -t -g -S -U", prefix: "--unit= --lines= --output= --priority= --since= --until= --boot= --identifier= --grep= --case-sensitive=",
			operand: noFlag,
		}}
	case "sysctl":
		return []form{{letters: "naeN", flags: "--values --all --ignore --names", operand: noSet}}
	case "udevadm":
		return []form{{
			letters: "arxe", flags: "--attribute-walk --root --export --export-db", valued: "-q -p -n", operand: anyWord, first: "info", least: 1,
			prefix: "--query= --path= --name= --property= --device-id-of-file=",
		}}
	case "mst":
		return []form{{operand: anyWord, first: "status version", least: 1, letters: "v"}}
	case "numactl":
		return []form{{flags: "--hardware -H --show -s", need: "--hardware -H --show -s"}}
	case "ps":
		return []form{{letters: "eAfLwo", valued: "-C -o -p -u", operand: anyWord}}
	case "pgrep":
		return []form{{letters: "alxfcn", valued: "-u", operand: anyWord, least: 1}}
	case "lsinitramfs":
		return []form{{letters: "l", operand: anyWord, least: 1}}
	case "lsinitrd":
		return []form{{letters: "sm", flags: "--size --mod", valued: "-f -k --file --kver", prefix: "--file= --kver=", operand: anyWord}}
	case "readlink":
		return []form{{letters: "femnqsv", operand: anyWord, least: 1}}
	}
	return nil
}

// refuseTool judges programs whose arguments have a grammar of their own. The second result says
// that the program is one of them.
func refuseTool(program string, args []string) (string, bool) {
	switch program {
	case "ip":
		return refuseIP(args), true
	case "rdma", "devlink":
		return refuseRdma(program, args), true
	case "ethtool":
		return refuseEthtool(args), true
	case "mlxconfig", "mstconfig", "flint", "mstflint", "mlxfwmanager", "mlxlink":
		return refuseFirmware(program, args), true
	case "cat", "ls", "stat", "grep", "test", "file":
		return refuseFileTool(program, args), true
	}
	return "", false
}

// refuseIP lets objects be shown. "ip -batch", "ip netns exec" and any other verb are refused.
func refuseIP(args []string) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if !has("-br -brief -s -stats -d -details -j -json -p -pretty -4 -6 -o -oneline -N -0 -h -c=never -color=never", args[0]) {
			return "option " + args[0] + " is not on the list"
		}
		args = args[1:]
	}
	if len(args) == 0 || !has("link addr address a route rule neigh neighbour netns vrf maddress tunnel", args[0]) {
		return "only objects such as link, address, route and rule may be shown"
	}
	if len(args) == 1 {
		return ""
	}
	if !has("show list lst ls", args[1]) && (args[0] != "route" || args[1] != "get") {
		return "only show and list are read-only"
	}
	return ""
}

// refuseRdma covers rdma(8) and devlink(8), which share a grammar: object, [type], verb.
func refuseRdma(program string, args []string) string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if !has("-d -dd -j -p -r -s -v -jp -pj -jd -dj -n", args[0]) {
			return "option " + args[0] + " is not on the list"
		}
		args = args[1:]
	}
	objects, verbs := "dev link res resource system statistic", "show list"
	if program == "devlink" {
		objects, verbs = "dev port health param resource region sb", "show list info"
	}
	if len(args) == 0 || !has(objects, args[0]) {
		return "only objects such as " + objects + " may be shown"
	}
	args = args[1:]
	if program == "devlink" && len(args) > 1 && has("eswitch param flash", args[0]) {
		if args[0] == "flash" {
			return "flash is not read-only"
		}
		args = args[1:]
	}
	if program == "rdma" && len(args) > 1 && has("qp cq mr cm_id pd ctx srq", args[0]) {
		args = args[1:]
	}
	if len(args) > 0 && !has(verbs, args[0]) {
		return "only " + strings.ReplaceAll(verbs, " ", " and ") + " are read-only"
	}
	return ""
}

// refuseEthtool lets one device be asked with at most one reading option.
func refuseEthtool(args []string) string {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if !has("-i -k -a -c -g -l -S -m -T -P -x --driver --show-features --show-offload --show-pause --show-coalesce --show-ring --show-channels "+
			"--statistics --module-info --show-time-stamping --show-permaddr --show-priv-flags --show-fec --show-rxfh", args[0]) {
			return "option " + args[0] + " is not on the list"
		}
		args = args[1:]
	}
	if len(args) != 1 || !device(args[0]) {
		return "exactly one device may be named"
	}
	return ""
}

// refuseFirmware lets firmware be asked for its version and settings, never set or burnt.
func refuseFirmware(program string, args []string) string {
	verb, wanted := "", "q query"
	switch program {
	case "mlxfwmanager":
		if len(args) == 0 || args[0] != "--query" {
			return "only --query is read-only"
		}
		verb, args = "q", args[1:]
	case "mlxlink":
		wanted = "" // without a verb it shows the link
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-d" || a == "--device":
			if i++; i == len(args) || !device(args[i]) {
				return "the device is missing"
			}
		case has("-e -j --json", a), program == "mlxlink" && has("-m -e -c", a):
		case program == "mlxlink" && a == "-p":
			if i++; i == len(args) || !isNumber(args[i]) {
				return "the port is missing"
			}
		case strings.HasPrefix(a, "-"):
			return "option " + a + " is not on the list"
		case verb == "" && wanted != "":
			if !has(wanted, a) {
				return "only query is read-only"
			}
			verb = a
		case program == "mlxlink" || !noSet(a) || !device(a):
			return "argument " + a + " is not on the list"
		case has("flint mstflint", program) && a != "full":
			return "argument " + a + " is not on the list"
		}
	}
	if wanted != "" && verb == "" {
		return "only query is read-only"
	}
	return ""
}

// refuseFileTool lets files be read by absolute path. Opening a device node can change the host
// (a watchdog starts when it is opened), and some files under /proc and /sys take what is read
// from them away from others, or never end.
func refuseFileTool(program string, args []string) string {
	f := form{operand: anyWord, least: 1}
	opens := false
	switch program {
	case "cat":
		opens = true
	case "ls":
		f.letters, f.prefix, f.least = "1aAlLdhnFRtrSiZpH", "--color= --time-style=", 0
	case "stat":
		f.letters, f.valued, f.prefix = "Lt", "-c --format", "--format="
	case "grep":
		f.letters, f.valued, f.least, opens = "EFicqwxohsnvmHl", "-e -m", 2, true
	case "test":
		f.letters, f.least = "efdrxsLhbcw", 1
	case "file":
		f.letters, opens = "bL", true
	}
	if reason := f.refuse(args); reason != "" {
		return reason
	}
	first := true
	for i := 0; i < len(args); i++ {
		a := args[i]
		if has(f.valued, a) {
			i++
			first = first && a != "-e"
			continue
		}
		if strings.HasPrefix(a, "-") {
			continue
		}
		if program == "grep" && first {
			first = false // the pattern
			continue
		}
		if !path.IsAbs(a) {
			return "path " + a + " is not absolute"
		}
		if opens && !readable(path.Clean(a)) {
			return "reading " + a + " may have an effect"
		}
	}
	return ""
}

// readable refuses what is known to act when it is opened or read.
func readable(p string) bool {
	for _, dir := range []string{"/dev", "/sys/kernel/debug", "/sys/kernel/tracing", "/proc/kmsg", "/proc/kcore", "/proc/sysrq-trigger"} {
		if p == dir || strings.HasPrefix(p, dir+"/") {
			return false
		}
	}
	// /proc/self/fd and /proc/PID/root lead anywhere.
	return !strings.HasPrefix(p, "/proc/") || !strings.Contains(p, "/fd/") && !strings.Contains(p, "/root/") && !strings.Contains(p, "/cwd/")
}
