package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// counters count, in the matrix alone, what it has of each group of the facts. A group that is left out
// whole has none.
func counters() map[string]func(*Matrix) int {
	releases := func(stack string, of func(Release) int) func(*Matrix) int {
		return func(m *Matrix) int {
			n := 0
			for _, r := range m.Releases {
				if r.Stack == stack {
					n += of(r)
				}
			}
			return n
		}
	}
	rows := func(stack string, is func(Row) bool) func(*Matrix) int {
		return releases(stack, func(r Release) int { return countIf(r.Rows, is) })
	}
	everywhere := func(is func(Row) bool) func(*Matrix) int {
		return func(m *Matrix) int {
			n := 0
			for _, r := range m.Releases {
				n += countIf(r.Rows, is)
			}
			for _, b := range m.Branches {
				n += countIf(b.Rows, is)
			}
			return n
		}
	}
	branchRows := func(stack string, is func(Row) bool) func(*Matrix) int {
		return func(m *Matrix) int {
			n := 0
			for _, b := range m.Branches {
				if b.Stack == stack {
					n += countIf(b.Rows, is)
				}
			}
			return n
		}
	}
	kinds := func(kind string) func(*Matrix) int {
		return func(m *Matrix) int { return countIf(m.Kernels, func(k DistroKernel) bool { return k.Kind == kind }) }
	}
	lts := func(stack string) func(*Matrix) int {
		return func(m *Matrix) int {
			return countIf(m.Branches, func(b Branch) bool { return b.Stack == stack && b.LTS })
		}
	}
	inbox := func(ids ...string) func(*Matrix) int {
		return func(m *Matrix) int {
			return countIf(m.Inbox, func(r InboxRelease) bool { return slices.Contains(ids, r.ID) && r.Flavour == "" })
		}
	}
	layouts := func(m *Matrix, stack, family, versions string) Layout {
		i := slices.IndexFunc(m.Layouts, func(l Layout) bool {
			return l.Stack == stack && l.Family == family && slices.Contains(l.Versions, versions)
		})
		if i < 0 {
			return Layout{}
		}
		return m.Layouts[i]
	}
	one := func(Release) int { return 1 }
	return map[string]func(*Matrix) int{
		"mlnx-ofed.yaml releases":              releases("mlnx-ofed", one),
		"mlnx-ofed.yaml releases.supported_os": rows("mlnx-ofed", func(r Row) bool { return r.Evidence == DocumentedTable }),
		"mlnx-ofed.yaml releases.other_os_evidence": rows("mlnx-ofed", func(r Row) bool {
			return r.Evidence == DriverContainer || r.Evidence == BundleName && r.Source != ""
		}),
		"mlnx-ofed.yaml releases.bundles_seen":                                 rows("mlnx-ofed", func(r Row) bool { return r.Evidence == BundleName && r.Source == "" }),
		"mlnx-ofed.yaml releases.dpdk_tested_os (systems, ranges written out)": rows("mlnx-ofed", func(r Row) bool { return r.Evidence == Tested }),
		"mlnx-ofed.yaml releases.bundles_unconfirmed":                          releases("mlnx-ofed", func(r Release) int { return len(r.Doubtful) }),
		"mlnx-ofed.yaml releases.supported_hardware":                           releases("mlnx-ofed", func(r Release) int { return len(r.Cards) }),
		"mlnx-ofed.yaml releases.firmware":                                     releases("mlnx-ofed", func(r Release) int { return len(r.Firmware) }),
		"mlnx-ofed.yaml third_party_matrices.rows": everywhere(func(r Row) bool {
			return r.Evidence == ThirdParty && !strings.Contains(r.Source, "irdma")
		}),
		"mlnx-ofed.yaml lts_branches":   lts("mlnx-ofed"),
		"mlnx-ofed.yaml hardware_rules": rulesFor("mlnx-ofed", "connectx-3", "connectx-3-pro", "connect-ib", "connectx-4", "connectx-6-lx", "bluefield-2", "connectx-7", "bluefield-3", "connectx-8"),
		"mlnx-ofed.yaml ga_kernels.rows": func(m *Matrix) int { // openSUSE Leap has those of SLES, from another source
			return countIf(m.Kernels, func(k DistroKernel) bool { return k.Kind == "ga" && k.ID != "opensuse-leap" })
		},
		"kmod.yaml source (kernels of the Debian archive that were read, by release)": kinds("archive"),
		"mlnx-ofed.yaml ga_kernels.hwe_rows":                                          kinds("hwe"),
		"mlnx-ofed.yaml ga_kernels.oracle_default_rows":                               kinds("default"),
		"mlnx-ofed.yaml ga_kernels.uek_lines":                                         kinds("uek"),

		"rdma-core.yaml compile_measured": func(m *Matrix) int {
			return countIf(m.Costs, func(k Cost) bool { return k.ID == "rdma-core-64.0" && k.Minutes == 1 })
		},

		"doca-ofed.yaml releases":                    releases("doca-ofed", one),
		"doca-ofed.yaml releases.os_labels_seen":     rows("doca-ofed", func(r Row) bool { return r.Evidence == BundleName }),
		"doca-ofed.yaml releases.supported_hardware": releases("doca-ofed", func(r Release) int { return len(r.Cards) }),
		"doca-ofed.yaml releases.profiles":           releases("doca-ofed", func(r Release) int { return len(r.Profiles) }),
		"doca-ofed.yaml releases.build_ids_seen":     releases("doca-ofed", func(r Release) int { return len(r.Builds) }),
		"doca-ofed.yaml releases.firmware":           releases("doca-ofed", func(r Release) int { return len(r.Firmware) }),
		"doca-ofed.yaml driver_container_manifests.rows": rows("doca-ofed", func(r Row) bool {
			return r.Evidence == DriverContainer
		}),
		"doca-ofed.yaml driver_container_tested_kernels.tested": branchRows("doca-ofed", func(r Row) bool { return r.Evidence == Tested }),
		"doca-ofed.yaml lts.branches":                           lts("doca-ofed"),
		// The sixth is of three cards and three more that network operator 26.x validates.
		"doca-ofed.yaml hardware_rules": func(m *Matrix) int {
			n := rulesFor("doca-ofed", "connectx-4", "connectx-8", "connectx-9", "bluefield-3")(m)
			if rulesFor("doca-ofed", "connectx-4-lx", "connectx-5")(m) == 2 {
				n++
			}
			if rulesFor("doca-ofed", "connectx-6", "connectx-6-dx", "connectx-7")(m) == 3 {
				n++
			}
			return n
		},
		"doca-ofed.yaml known_breakage": func(m *Matrix) int {
			n := 0
			for _, ids := range [][]string{
				{"el98-ofed-25.10", "el98-ofed-26.04", "el98-687.12.1", "el98-ofed-25.10-3.2.3"},
				{"ubuntu-6.17.0-1018", "ubuntu-6.17.0-1014", "ubuntu-6.17.0-1018-doca-3.4.1"},
				{"kernel-6.18-ofed-26.04"},
				{"proxmox-9-kernel-6.17"},
				{"azurelinux-3-doca"},
			} {
				if countIf(m.Builds, func(b Build) bool { return slices.Contains(ids, b.ID) }) == len(ids) {
					n++
				}
			}
			if slices.Equal(layouts(m, "doca-ofed", "rhel", ">= 3.2").Drops, []string{"efa", "mlx4"}) {
				n++
			}
			return n
		},
		"doca-ofed.yaml profiles": func(m *Matrix) int { return len(layouts(m, "doca-ofed", "debian", ">= 3.2").Meta) },
		"doca-ofed.yaml ubuntu_own_packages.metapackages": func(m *Matrix) int {
			return countIf(layouts(m, "doca-ofed", "debian", ">= 3.2").Conflicts, func(p string) bool {
				return strings.HasPrefix(p, "doca-ofed-") && !strings.HasSuffix(p, "-dkms")
			})
		},
		"doca-ofed.yaml meta_and_helper_packages.doca": func(m *Matrix) int {
			l := layouts(m, "doca-ofed", "rhel", "< 3.2")
			return len(l.Meta) + len(l.UserOnly) + countIf(l.Needs, func(p string) bool { return p == "doca-extra" })
		},

		"hardware.yaml devices": func(m *Matrix) int {
			n := 0
			for _, d := range m.CardDrivers {
				n += len(d.Devices)
			}
			return n
		},
		"hardware.yaml drivers": func(m *Matrix) int {
			names := map[string]bool{}
			for _, d := range m.CardDrivers {
				names[d.Driver] = true
			}
			return len(names)
		},

		"mlnx-layout.yaml kmp.kernel_must_match (labels with / written out)": func(m *Matrix) int {
			return countIf(m.KMP, func(k KMP) bool { return k.Kernel != "" || k.Disabled && strings.HasPrefix(k.Label, "ol") })
		},
		"mlnx-layout.yaml kmp.kmp_disabled_for": func(m *Matrix) int {
			return countIf(m.KMP, func(k KMP) bool { return k.Disabled && !strings.HasPrefix(k.Label, "ol") })
		},
		"mlnx-layout.yaml kmp.not_checked.distro_labels (sles15sp2 to sp7 written out)": func(m *Matrix) int {
			return countIf(m.KMP, func(k KMP) bool { return k.NotChecked })
		},
		"mlnx-layout.yaml signing_keys": func(m *Matrix) int { return len(layouts(m, "mlnx-ofed", "rhel", ">= 5.1").Keys) },
		"mlnx-layout.yaml removed_distro_packages.deb": func(m *Matrix) int {
			return len(layouts(m, "mlnx-ofed", "debian", ">= 5.1").Replaces)
		},
		"mlnx-layout.yaml removed_distro_packages.rpm (both lists, a name in both once)": func(m *Matrix) int {
			return len(layouts(m, "mlnx-ofed", "rhel", ">= 5.1").Replaces)
		},
		"mlnx-layout.yaml removed_distro_packages.never_removed (qemu-system-* written out)": func(m *Matrix) int {
			return len(layouts(m, "mlnx-ofed", "rhel", ">= 5.1").Keeps)
		},
		"mlnx-layout.yaml kernel_modules_replaced (core, added, mlx4 and the modules of the ULP packages)": func(m *Matrix) int {
			l := layouts(m, "mlnx-ofed", "rhel", "< 5.0")
			return len(l.Modules) + len(l.Adds)
		},
		"mlnx-layout.yaml repo_install.meta_packages.deb_49": func(m *Matrix) int {
			l := layouts(m, "mlnx-ofed", "debian", "< 5.0")
			return len(l.Meta) + len(l.UserOnly)
		},
		"mlnx-layout.yaml kernel_modules_replaced.breaks": func(m *Matrix) int {
			return countIf(layouts(m, "mlnx-ofed", "rhel", ">= 5.1").Notes, func(s string) bool { return strings.Contains(s, "irdma") })
		},

		"ofa-ofed.yaml releases.list":                           releases("ofed", one),
		"ofa-ofed.yaml ofed_4_17_1.distro_pairs_named_by_intel": rows("ofed", func(r Row) bool { return r.VersionID != "7.2" }),
		"rdma-core.yaml rdma_core_releases.releases":            releases("rdma-core", func(r Release) int { return countIf([]string{r.Withdrawn}, func(s string) bool { return s == "" }) }),
		"rdma-core.yaml newer_than_release_table.releases":      releases("rdma-core", func(r Release) int { return countIf([]string{r.Withdrawn}, func(s string) bool { return s != "" }) }),
		"rdma-core.yaml rdma_core_releases.providers_at_v64": releases("rdma-core", func(r Release) int {
			return countIf([]string{r.Version}, func(s string) bool { return s == "64.0" }) * len(r.Providers)
		}),
		"inbox.yaml debian.releases":                                   inbox("debian"),
		"inbox.yaml ubuntu.releases":                                   inbox("ubuntu"),
		"inbox.yaml rhel_family.releases":                              inbox("rhel"),
		"inbox.yaml fedora.releases":                                   inbox("fedora"),
		"inbox.yaml suse.releases (SP6 and Leap 15.6 apart)":           inbox("sles", "opensuse-leap", "opensuse-tumbleweed"),
		"inbox.yaml openeuler.kernels":                                 inbox("openeuler"),
		"inbox.yaml alpine.releases":                                   inbox("alpine"),
		"inbox.yaml oracle_linux.default_kernels":                      oracle,
		"inbox.yaml anolis, alinux, amzn, azurelinux, photon and arch": inbox("anolis", "alinux", "amzn", "azurelinux", "photon", "arch"),
		"inbox.yaml cloud_kernels.list": func(m *Matrix) int {
			systems := map[string]bool{}
			for _, r := range m.Inbox {
				if r.Flavour != "" {
					systems[r.ID+" "+r.Flavour] = true
				}
			}
			return len(systems)
		},
		"inbox.yaml package_name_map.rows": func(m *Matrix) int { return len(m.Roles) },
		"kmod.yaml kernel_config_checks (for_*, required_for_verbs, loading)": func(m *Matrix) int {
			return countIf(m.Options, func(o KernelOption) bool { return o.Need != "vendor" })
		},
	}
}

// oracle: default kernels of Oracle Linux from 7.7 on; the older ones are of another group.
func oracle(m *Matrix) int {
	return countIf(m.Kernels, func(k DistroKernel) bool {
		return k.ID == "ol" && k.Kind == "default" && k.VersionID != "6.10" && k.VersionID != "7.4" && k.VersionID != "7.8"
	})
}

func rulesFor(stack string, cards ...string) func(*Matrix) int {
	return func(m *Matrix) int {
		return countIf(m.Cards, func(c CardRule) bool { return c.Stack == stack && slices.Contains(cards, c.Card) })
	}
}

func countIf[T any](list []T, is func(T) bool) int {
	n := 0
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}

// TestNothingIsLost counts the embedded matrix against the account: a lost row fails it.
func TestNothingIsLost(t *testing.T) {
	m, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.LeftOut) < 50 {
		t.Fatalf("the account has %d groups", len(m.LeftOut))
	}
	counted := counters()
	for _, l := range m.LeftOut {
		name := l.Facts + " " + l.Group
		count := counted[name]
		if count == nil {
			count = func(*Matrix) int { return 0 }
		}
		delete(counted, name)
		if got := count(m); got != l.In {
			t.Errorf("%s: the matrix has %d, the account says %d of %d", name, got, l.In, l.Rows)
		}
	}
	for name := range counted {
		t.Errorf("%s is counted and not in the account", name)
	}
}

// TestLossIsSeen is the twin: with one entry less of each section the count differs.
func TestLossIsSeen(t *testing.T) {
	counts := func(m *Matrix) string {
		var b strings.Builder
		for _, l := range m.LeftOut {
			if count := counters()[l.Facts+" "+l.Group]; count != nil {
				fmt.Fprintln(&b, l.Group, count(m))
			}
		}
		return b.String()
	}
	m, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	whole := counts(m)
	for name, drop := range map[string]func(*Matrix){
		"a release": func(m *Matrix) { m.Releases = m.Releases[1:] },
		"a row":     func(m *Matrix) { m.Releases = slices.Clone(m.Releases); dropRow(m.Releases) },
		"a branch": func(m *Matrix) {
			m.Branches = slices.DeleteFunc(slices.Clone(m.Branches), func(b Branch) bool { return b.Name == "2.9" })
		},
		"a kernel":   func(m *Matrix) { m.Kernels = m.Kernels[1:] },
		"a KMP rule": func(m *Matrix) { m.KMP = m.KMP[1:] },
		"a role":     func(m *Matrix) { m.Roles = m.Roles[1:] },
		"an option":  func(m *Matrix) { m.Options = m.Options[1:] },
		"a system":   func(m *Matrix) { m.Inbox = m.Inbox[1:] },
		"a card":     func(m *Matrix) { m.CardDrivers = m.CardDrivers[1:] },
	} {
		less := *m
		drop(&less)
		if counts(&less) == whole {
			t.Errorf("%s less is not seen", name)
		}
	}
}

func dropRow(releases []Release) {
	for i := range releases {
		if len(releases[i].Rows) > 0 {
			releases[i].Rows = releases[i].Rows[1:]
			return
		}
	}
}
