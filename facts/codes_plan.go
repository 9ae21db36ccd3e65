package facts

// planCodes are the reasons and warnings of the planner.
func planCodes() []Code {
	return []Code{
		// Why a stack or a request is refused.
		{"no-rdma-hardware", "no card that can do RDMA was found", "look at `rdmactl detect`; `--profile inbox` installs the stack all the same, `--profile soft` adds Soft-RoCE, `--card GEN` states a card that cannot be seen"},
		{"hardware-unknown", "nothing tells which PCI devices the host has", "run `rdmactl detect --save` on the host, add the output of `lspci -nn` to the evidence, or state the card with `--card GEN`"},
		{"foreign-hardware", "the RDMA card is another vendor's, which ConnectX stacks do not serve", "`--profile inbox` installs the distribution's own drivers; the card's vendor names others"},
		{"card-contradicted", "--card states another card than the one that is seen", "leave --card away; it is for cards that cannot be seen"},
		{"not-linux", "the host does not run Linux", "nothing; rdmactl plans for Linux only"},
		{"container", "the plan would change a host from inside a container", "run rdmactl on the machine itself and pass /dev/infiniband into the container"},
		{"distro-unknown", "nothing tells which distribution this is", "add /etc/os-release to the evidence, or restore it on the host"},
		{"unsupported-distro", "the profile has no packages for this package family", "use an apt distribution, or write a profile for the family"},
		{"unknown-combination", "nothing is known of this stack on this release", "compare the package names with those of the distribution first"},
		{"foreign-stack", "packages of another RDMA stack are in the way", "remove that stack with its own uninstaller (ofed_uninstall.sh, or apt), then plan again"},
		{"broken-packages", "packages are half installed or half configured, so apt refuses to work", "sudo dpkg --configure -a, then sudo apt-get -f install"},
		{"package-held", "a package that is to be installed is on hold", "apt-mark unhold NAME, if the hold is no longer wanted"},
		{"kernel-files-gone", "the modules of the running kernel are not on disk any more", "boot the kernel that is installed, then plan again"},
		{"kernel-too-old", "the kernel lacks what the profile needs", "boot a newer kernel"},
		{"module-missing", "the kernel has no such module", "install the kernel package that the reason names, or another flavour, and boot it"},
		{"module-blacklisted", "a needed module is kept out by the host's own configuration", "take it out of the file, or off the kernel command line, that the reason names"},
		{"no-systemd", "systemd does not run, so nothing makes the Soft-RoCE device again after a boot", "use a host with systemd"},
		{"no-netdev", "no interface was found for the Soft-RoCE device, or several", "name one with `--netdev NAME`"},
		{"soft-roce-conflict", "the device name or the interface is taken", "`rdma link` shows what there is; `rdma link delete NAME` removes one, `--netdev` names another interface"},
		{"not-in-matrix", "the matrix says nothing about this stack yet", "name another stack or profile"},
		{"version-not-offered", "this stack has no choice of versions", "leave the version away"},
		{"method-not-offered", "this stack is not installed that way", "leave the method away"},

		// Why a stack was chosen.
		{"inbox-serves", "the distribution's own kernel modules and packages serve the profile", "nothing"},

		// What must be known about a plan that can be carried out.
		{"vendor-not-judged", "the profile prefers vendor stacks that cannot be judged yet", "nothing; inbox serves until the matrix knows them"},
		{"card-stated", "the plan rests on a card that is stated and not seen", "run `rdmactl detect` when the card is fitted"},
		{"module-left-out", "an optional module is not loaded", "nothing, unless what it serves is wanted"},
		{"no-device-to-verify", "there is no RDMA device that verify could use", "fit a card, or use `--profile soft`"},
		{"packages-unknown", "nothing tells which packages are installed", "run `rdmactl detect` on the host"},
		{"restart-services", "services keep their old memlock limit until they are restarted", "restart them when no job runs: systemctl restart NAME"},
		{"activation-at-boot", "the plan is for a system that does not run now", "boot it, then run `rdmactl verify`"},
		{"memlock-everyone", "the profile lets every user pin all memory", "list groups in the profile instead"},
		{"umad-group", "the profile lets a group write umad nodes", "leave umad_group out of the profile where its members are not to be trusted with the fabric"},
		{"other-profile-files", "files of an earlier profile are still there", "rdmactl rollback takes back the run that wrote them"},
	}
}
