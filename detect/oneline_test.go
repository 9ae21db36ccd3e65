package detect

import (
	"slices"
	"testing"

	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/host"
)

// "ip -o addr" tells the interface of the login session, with -4 and -6 as well; "ip -o link" has no addresses.
func TestAddressesOneALine(t *testing.T) {
	const four = "2: eno1    inet 192.168.1.5/24 brd 192.168.1.255 scope global eno1\\       valid_lft forever\n" +
		"3: enp59s0np0    inet 10.0.0.5/24 brd 10.0.0.255 scope global enp59s0np0\n" +
		"3: enp59s0np0    inet 10.0.0.6/24 scope global secondary enp59s0np0\n4: vlan7@eno1    inet 10.7.0.1/24 scope global vlan7\n"
	got := addOneLine(nil, four, "ip -o addr")
	got = addOneLine(got, "3: enp59s0np0    inet6 fe80::1/64 scope link \n", "ip -o -6 addr")
	want := map[string][]string{"eno1": {"192.168.1.5/24"}, "enp59s0np0": {"10.0.0.5/24", "10.0.0.6/24", "fe80::1/64"}, "vlan7": {"10.7.0.1/24"}}
	if len(got) != len(want) {
		t.Errorf("%d interfaces", len(got))
	}
	for _, d := range got {
		if !slices.Equal(d.Addresses.Or(nil), want[d.Name]) {
			t.Errorf("%s: %q, want %q", d.Name, d.Addresses.Or(nil), want[d.Name])
		}
	}
	for _, bad := range []string{
		"2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT\\    link/ether 02:00:00:00:00:01\n",
		"Device \"eno9\" does not exist.\n", "x: eno1 inet 10.0.0.1/24\n", "2: eno1\n",
	} {
		if got := addOneLine(nil, bad, "ip -o addr"); len(got) != 0 {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestSessionByOneLine(t *testing.T) {
	text := func(address string) *host.Evidence {
		docs, err := host.ParseEvidence("e.yaml", []byte(`apiVersion: rdmactl/v1
kind: Evidence
files:
  /etc/os-release: "ID=debian\nVERSION_ID=\"12\"\n"
commands:
  uname -r: {stdout: "6.1.0-57-amd64\n"}
  "echo $SSH_CONNECTION": {stdout: "10.0.0.9 51234 10.0.0.5 22\n"}
  "ip -o -4 addr show": {stdout: "2: eno1    inet 192.168.1.5/24 scope global eno1\n3: enp59s0np0    inet `+address+` scope global enp59s0np0\n"}
`))
		if err != nil {
			t.Fatal(err)
		}
		return docs[0]
	}
	if f := detected(t, text("10.0.0.5/24")).Access.SessionNetdev; f.Or("") != "enp59s0np0" {
		t.Errorf("%+v", f)
	}
	if f := detected(t, text("10.0.0.7/24")).Access.SessionNetdev; f.State == facts.Known {
		t.Errorf("%+v", f)
	}
}
