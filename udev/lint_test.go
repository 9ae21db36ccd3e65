package udev

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// upstream are rules as rdma-core ships them.
const upstream = `# comment, with a "quote
ACTION=="remove", GOTO="rdma_end"
SUBSYSTEM!="infiniband", GOTO="rdma_end"
TAG+="systemd", ENV{SYSTEMD_WANTS}+="rdma-hw.target"
DRIVERS=="mlx5_core", ENV{ID_RDMA_ROCE}="1", \
  ENV{ID_RDMA_INFINIBAND}="1"
IMPORT{program}="rdma_rename %k NAME_FALLBACK"
ACTION=="add", SUBSYSTEM=="net", ENV{ID_NET_DRIVER}=="mlx4_en", RUN{builtin}+="kmod load mlx4_ib"
LABEL="rdma_end"
`

func TestLintAcceptsUpstream(t *testing.T) {
	for _, p := range Lint("u.rules", []byte(upstream), Options{}) {
		t.Error(p)
	}
}

func TestLintFinds(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string // line:column code
	}{
		"comparison with one =":    {`KERNEL="uverbs*", TAG+="systemd"`, []string{"1:1 no-match", "1:7 operator"}},
		"second line":              {"# c\nACTION==\"add\", \\\n  KERNELL==\"x\", TAG+=\"a\"\n", []string{"3:3 unknown-key"}},
		"assignment with ==":       {`ACTION=="add", MODE=="0666"`, []string{"1:20 operator"}},
		"operator not taken":       {`ACTION=="add", MODE+="0666"`, []string{"1:20 operator"}},
		"quote open":               {`ACTION=="add", TAG+="a`, []string{"1:21 unbalanced"}},
		"quote missing":            {`ACTION==add, TAG+="a"`, []string{"1:9 syntax"}},
		"brace open":               {`ATTR{x=="1", TAG+="a"`, []string{"1:5 unbalanced"}},
		"text after the value":     {`ACTION=="add"x, TAG+="a"`, []string{"1:14 unbalanced"}},
		"trailing comma":           {`ACTION=="add", TAG+="a",`, []string{"1:16 trailing-comma"}},
		"no match":                 {`TAG+="a"`, []string{"1:1 no-match"}},
		"relative program":         {`ACTION=="add", RUN+="foo.sh %k"`, []string{"1:21 relative-program"}},
		"attribute missing":        {`ATTR=="x", TAG+="a"`, []string{"1:1 attribute"}},
		"attribute too many":       {`KERNEL{x}=="x", TAG+="a"`, []string{"1:1 attribute"}},
		"mode not octal":           {`KERNEL=="sda", MODE="0888"`, []string{"1:21 mode"}},
		"label missing":            {`ACTION=="add", GOTO="end"`, []string{"1:16 label"}},
		"label before":             {"LABEL=\"end\"\nACTION==\"add\", GOTO=\"end\"\n", []string{"2:16 label"}},
		"no operator":              {`ACTION`, []string{"1:7 syntax"}},
		"lower case":               {`action=="add"`, []string{"1:1 syntax"}},
		"uverbs narrowed":          {`KERNEL=="uverbs*", MODE="0660", GROUP="rdma"`, []string{"1:25 narrows-node"}},
		"one uverbs narrowed":      {`KERNEL=="uverbs[0-9]", MODE="0600"`, []string{"1:29 narrows-node"}},
		"rdma_cm narrowed":         {`SUBSYSTEM=="misc", KERNEL=="rdma_cm", MODE="0600"`, []string{"1:44 narrows-node"}},
		"umad for a group":         {`SUBSYSTEM=="infiniband_mad", KERNEL=="umad*", GROUP="rdma", MODE="0660"`, []string{"1:66 widens-node"}},
		"umad, group without mode": {`KERNEL=="umad*", GROUP="rdma"`, []string{"1:24 widens-node"}},
		"umad for another owner":   {`KERNEL=="umad*", OWNER="ib"`, []string{"1:24 widens-node"}},
		"umad for the seat":        {`KERNEL=="umad*", TAG+="uaccess"`, []string{"1:23 widens-node"}},
		"all of infiniband":        {`SUBSYSTEM=="infiniband*", MODE="0640"`, []string{"1:32 narrows-node", "1:32 widens-node", "1:32 widens-node"}},
		"alternatives":             {`KERNEL=="umad*|issm*", MODE="0666"`, []string{"1:29 widens-node", "1:29 widens-node"}},
		"behind a guard":           {"SUBSYSTEM!=\"infiniband_verbs\", GOTO=\"end\"\nMODE=\"0600\"\nLABEL=\"end\"\nKERNEL==\"sda\", MODE=\"0600\"\n", []string{"2:6 narrows-node"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range Lint("x.rules", []byte(tc.text), Options{}) {
				got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Code))
				if !strings.HasPrefix(p.String(), fmt.Sprintf("x.rules:%d:%d: ", p.Line, p.Column)) {
					t.Errorf("text %q does not start with its place", p)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLintLeavesAlone(t *testing.T) {
	for _, text := range []string{
		`KERNEL=="uverbs*", MODE="0666"`,
		`KERNEL=="uverbs*", GROUP="rdma"`, // the kernel's 0666 stays
		`KERNEL=="umad*", MODE="0600"`,
		`KERNEL=="sda", MODE="0640"`,
		`KERNEL!="uverbs*", MODE="0640"`,
		`PROGRAM="/bin/x", TAG+="a"`,
		`ACTION=="add", RUN{builtin}+="kmod load mlx5_ib"`,
		`ACTION=="add", ENV{x}="a \"quoted\" word"`,
		``,
	} {
		for _, p := range Lint("x", []byte(text), Options{}) {
			t.Errorf("%s: %s", text, p)
		}
	}
	allowed := `KERNEL=="umad*", GROUP="rdma", MODE="0660"`
	if p := Lint("x", []byte(allowed), Options{AllowUmad: true}); p != nil {
		t.Errorf("allowed explicitly: %v", p)
	}
	narrow := `SUBSYSTEM=="infiniband*", MODE="0600"`
	if p := Lint("x", []byte(narrow), Options{AllowUmad: true}); len(p) != 1 || p[0].Code != "narrows-node" {
		t.Errorf("AllowUmad does not allow narrowing: %v", p)
	}
}

func TestRender(t *testing.T) {
	got, err := Render([]Rule{UmadForGroup("rdma")}, Options{AllowUmad: true})
	if err != nil {
		t.Fatal(err)
	}
	want := "# Members of this group can send management datagrams to the whole fabric.\n" +
		`SUBSYSTEM=="infiniband_mad", KERNEL=="umad*|issm*", GROUP="rdma", MODE="0660"` + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	match := []Token{{"KERNEL", "==", "sda"}}
	for name, rules := range map[string][]Rule{
		"none":                    nil,
		"umad not allowed":        {UmadForGroup("rdma")},
		"newline in value":        {{Matches: match, Assigns: []Token{{"TAG", "+=", "a\nb"}}}},
		"quote in value":          {{Matches: match, Assigns: []Token{{"TAG", "+=", `a", RUN+="/bin/sh`}}}},
		"newline in comment":      {{Comment: "a\rb", Matches: match, Assigns: []Token{{"TAG", "+=", "a"}}}},
		"key with blanks":         {{Matches: match, Assigns: []Token{{`TAG+="x", RUN`, "+=", "a"}}}},
		"comparison that assigns": {{Matches: []Token{{"KERNEL", "=", "sda"}}}},
		"unknown key":             {{Matches: match, Assigns: []Token{{"MODUS", "=", "0600"}}}},
		"no match":                {{Assigns: []Token{{"TAG", "+=", "a"}}}},
	} {
		if got, err := Render(rules, Options{}); err == nil {
			t.Errorf("%s: rendered %q", name, got)
		}
	}
}

// FuzzLint: no text makes it panic, and every problem is in the text.
func FuzzLint(f *testing.F) {
	f.Add(upstream)
	f.Add("KERNEL==\"a\\\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		for _, p := range Lint("x", []byte(text), Options{}) {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Code == "" || p.Text == "" {
				t.Errorf("%q: %+v", text, p)
			}
		}
		ParseNaming(text)
	})
}
