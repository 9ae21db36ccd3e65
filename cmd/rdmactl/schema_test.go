package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rdmactl/rdmactl/facts"
	"github.com/rdmactl/rdmactl/install"
	"github.com/rdmactl/rdmactl/install/bundle"
	"github.com/rdmactl/rdmactl/plan"
	"github.com/rdmactl/rdmactl/verbs"
)

// schemas are the documents that commands print, by the name in their "schema" member.
func schemas() map[string]any {
	return map[string]any{
		"rdmactl.facts/v1":   facts.Facts{},
		"rdmactl.plan/v1":    plan.Plan{},
		"rdmactl.run/v1":     install.RunReport{},
		"rdmactl.verify/v1":  verbs.Report{},
		"rdmactl.version/v1": buildInfo{},
		"rdmactl.history/v1": struct {
			Schema string            `json:"schema"`
			Runs   []install.RunInfo `json:"runs"`
		}{},
		"rdmactl.codes/v1": struct {
			Schema string       `json:"schema"`
			Codes  []facts.Code `json:"codes"`
		}{},
		install.PruneSchema:   install.Pruned{},
		profilesSchema:        profileList{},
		holdingsSchema:        holdingList{},
		matrixSchema:          matrixList{},
		environmentSchema:     environment{},
		unitSchema:            dropIn{},
		useSchema:             useReport{},
		plan.ComparisonSchema: plan.Comparison{},
		bundle.Schema:         bundleInfo{},
	}
}

// ofFleets are the documents that are printed for several hosts, one a line with the host first.
func ofFleets() []string {
	return []string{"rdmactl.facts/v1", "rdmactl.plan/v1", plan.ComparisonSchema}
}

// schemaFile is where a schema is kept: rdmactl.plan/v1 in docs/schema/plan.v1.json.
func schemaFile(name string) string {
	file := strings.ReplaceAll(strings.TrimPrefix(name, "rdmactl."), "/", ".") + ".json"
	return filepath.Join("..", "..", "docs", "schema", file)
}

// TestSchemas keeps docs/schema in step with the types: a changed name shows as a diff here.
// RDMACTL_UPDATE=1 writes the files anew.
func TestSchemas(t *testing.T) {
	var want []string
	for name, value := range schemas() {
		doc := schemaOf(reflect.TypeOf(value))
		doc["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		doc["title"] = name
		doc["properties"].(map[string]any)["schema"] = map[string]any{"const": name}
		if slices.Contains(ofFleets(), name) {
			doc["properties"].(map[string]any)["host"] = map[string]any{
				"type": "string", "description": "the evidence that the answer is for; only where one command answers for several hosts",
			}
		}
		data, err := json.MarshalIndent(doc, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, '\n')
		file := schemaFile(name)
		want = append(want, filepath.Base(file))
		if os.Getenv("RDMACTL_UPDATE") != "" {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(string(have), string(data)); diff != "" {
			t.Errorf("%s is out of step (-file +types):\n%s", file, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join("..", "..", "docs", "schema"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e.Name()) {
			t.Errorf("docs/schema/%s belongs to no command", e.Name())
		}
	}
}

// schemaOf is the JSON schema of a type as encoding/json prints it.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{}
	case t.PkgPath() == "github.com/rdmactl/rdmactl/facts" && strings.HasPrefix(t.Name(), "Field["):
		value, _ := t.FieldByName("Value")
		text := map[string]any{"type": "string"}
		return map[string]any{
			"type": "object", "required": []string{"state"}, "additionalProperties": false,
			"properties": map[string]any{
				"state":  map[string]any{"enum": []string{"known", "absent", "unknown"}},
				"value":  schemaOf(value.Type),
				"source": text, "error": text,
			},
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(schemaOf(t.Elem()))
	case reflect.Struct:
		props := map[string]any{}
		required := []string{}
		addProperties(t, props, &required)
		return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": schemaOf(t.Elem())}
	case reflect.String:
		if values := enums()[t]; values != nil {
			return map[string]any{"enum": values}
		}
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Interface:
		return map[string]any{}
	default:
		return map[string]any{"type": "integer"}
	}
}

func nullable(s map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
}

func addProperties(t reflect.Type, props map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" {
			addProperties(f.Type, props, required)
			continue
		}
		if name == "" {
			name = f.Name
		}
		props[name] = schemaOf(f.Type)
		if !strings.Contains(opts, "omitempty") && !strings.Contains(opts, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// enums are the closed sets of the contract.
func enums() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[plan.Status](): {"supported", "community", "present", "unknown", "unsupported"},
		reflect.TypeFor[plan.Verdict](): {
			"install", "nothing-to-do", "refuse", "chosen", "possible", "refused",
		},
		reflect.TypeFor[plan.Kind](): {
			"packages", "files", "modules", "udev", "services", "verify", "repository", "build", "initramfs", "activate", "use", "remove", "hold", "vendor-script",
		},
		reflect.TypeFor[plan.Scope]():   {"nothing", "named-packages", "whole-repository", "build", "required-space"},
		reflect.TypeFor[verbs.Status](): {"pass", "warn", "fail", "not-testable"},
	}
}

// TestEnumsAreWhole compares the closed sets with the constants of their types, so that a value that is added
// to a package is added to the contract.
func TestEnumsAreWhole(t *testing.T) {
	for typ, listed := range enums() {
		dir := filepath.Join("..", "..", strings.TrimPrefix(typ.PkgPath(), "github.com/rdmactl/rdmactl/"))
		var declared []string
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typ.Name() {
					for _, value := range spec.Values {
						if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
							declared = append(declared, strings.Trim(lit.Value, `"`))
						}
					}
				}
				return true
			})
		}
		slices.Sort(declared)
		if len(declared) == 0 {
			t.Errorf("%s has no constants", typ)
		}
		want := slices.Sorted(slices.Values(listed))
		if diff := cmp.Diff(want, declared); diff != "" {
			t.Errorf("%s (-enums +constants):\n%s", typ, diff)
		}
	}
}

// checkSchema validates a document against the schema that it names.
func checkSchema(t *testing.T, data []byte) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, data)
	}
	name, _ := doc["schema"].(string)
	text, err := os.ReadFile(schemaFile(name))
	if err != nil {
		t.Fatalf("schema %q: %v", name, err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(doc); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	doc["a_name_that_is_not_in_the_schema"] = 1
	if resolved.Validate(doc) == nil {
		t.Errorf("%s accepts any name", name)
	}
}

// TestFleetOutputsFollowTheirSchemas: each line of a fleet is the document that one host gives, with the host in it.
// The schema of what is never printed for a fleet has no host.
func TestFleetOutputsFollowTheirSchemas(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(`apiVersion: rdmactl/v1
kind: Evidence
recorded_at: "2026-11-30T06:00:00Z"
files:
  /etc/os-release: "ID=debian\nVERSION_ID=\"12\"\n"
commands:
  uname -r: {stdout: "6.1.0-57-amd64\n"}
  lspci -nn: {stdout: "5e:00.0 Ethernet controller [0200]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]\n"}
`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	schemas := map[string]bool{}
	for _, args := range [][]string{{"detect"}, {"plan"}, {"plan", "--compare"}, {"plan", "--profile", "soft"}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append(args, "--evidence", dir, "-o", "json"), streams{in: strings.NewReader(""), out: &out, err: &errs})
		if code != 0 && code != 3 {
			t.Fatalf("%q: exit %d: %s", args, code, errs.String())
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("%q: %d lines", args, len(lines))
		}
		for _, line := range lines {
			checkSchema(t, []byte(line))
			var doc struct{ Schema, Host string }
			if err := json.Unmarshal([]byte(line), &doc); err != nil || doc.Host == "" {
				t.Errorf("%q: %v, host %q", args, err, doc.Host)
			}
			schemas[doc.Schema] = true
		}
	}
	for _, name := range ofFleets() {
		if !schemas[name] {
			t.Errorf("no fleet printed %s", name)
		}
	}
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"version", "-o", "json"}, streams{in: strings.NewReader(""), out: &out, err: &errs}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if err := validate(t, out.Bytes(), map[string]any{"host": "a"}); err == nil {
		t.Error("the schema of a version has a host")
	}
}

// validate checks a document, with more members, against the schema that it names.
func validate(t *testing.T, data []byte, more map[string]any) error {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	name, _ := doc["schema"].(string)
	text, err := os.ReadFile(schemaFile(name))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(doc, more)
	return resolved.Validate(doc)
}

// TestOutputsFollowTheirSchemas runs commands and validates what they print. Runs and verifications
// are validated on the machines, where there is something to run.
func TestOutputsFollowTheirSchemas(t *testing.T) {
	evidence := filepath.Join(t.TempDir(), "h.yaml")
	if err := os.WriteFile(evidence, []byte(`apiVersion: rdmactl/v1
kind: Evidence
recorded_at: "2026-11-30T06:00:00Z"
files:
  /etc/os-release: "ID=debian\nVERSION_ID=\"12\"\n"
commands:
  uname -r: {stdout: "6.1.0-57-amd64\n"}
  lspci -nn: {stdout: "5e:00.0 Ethernet controller [0200]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]\n"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	rhel := filepath.Join(t.TempDir(), "rhel.yaml")
	if err := os.WriteFile(rhel, []byte(`apiVersion: rdmactl/v1
kind: Evidence
recorded_at: "2026-11-30T06:00:00Z"
files:
  /etc/os-release: "ID=rhel\nVERSION_ID=\"9.4\"\n"
  /sys/module/mlx5_core/initstate: "live\n"
commands:
  uname -s: {stdout: "Linux\n"}
  uname -m: {stdout: "x86_64\n"}
  uname -r: {stdout: "5.14.0-427.13.1.el9_4.x86_64\n"}
  lspci -nn: {stdout: "5e:00.0 Ethernet controller [0200]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]\n"}
  "rpm -qa": {stdout: "rdma-core-48.0-1.el9.x86_64\nlibibverbs-48.0-1.el9.x86_64\n"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	el7 := filepath.Join(t.TempDir(), "el7.yaml") // of the few systems that OFED is documented for
	if text, err := os.ReadFile(rhel); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(el7, []byte(strings.NewReplacer("9.4", "7.6", "5.14.0-427.13.1.el9_4", "3.10.0-957.el7").Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	vendor := filepath.Join(t.TempDir(), "vendor.yaml")
	if err := os.WriteFile(vendor, []byte(`apiVersion: rdmactl/v1
kind: Evidence
recorded_at: "2026-11-30T06:00:00Z"
files:
  /etc/os-release: "ID=debian\nVERSION_ID=\"12\"\n"
commands:
  uname -r: {stdout: "6.1.0-57-amd64\n"}
  lspci -nn: {stdout: "5e:00.0 Ethernet controller [0200]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]\n"}
  'dpkg-query -W -f ${Package}\t${Version}\t${Status}\n': {stdout: "base-files\t12.4\tinstall ok installed\nlibibverbs1\t2410mlnx54-1.2410068\tinstall ok installed\n"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	holding := filepath.Join(t.TempDir(), "mirror.yaml")
	if err := os.WriteFile(holding, []byte("apiVersion: rdmactl/v1\nkind: Matrix\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := map[plan.Kind]bool{} // that a plan below has a step of
	for _, args := range [][]string{
		{"detect", "--evidence", evidence},
		{"plan", "--evidence", evidence},
		{"plan", "--evidence", evidence, "--profile", "soft"},
		{"plan", "--evidence", evidence, "--profile", "soft", "--netdev", "eth0"},
		{"plan", "--evidence", evidence, "--profile", "inbox"},
		{"plan", "--evidence", evidence, "--profile", "inbox", "--hold"},
		{"plan", "--evidence", evidence, "--stack", "doca-ofed", "--hold"},
		{"plan", "--evidence", evidence, "--stack", "rdma-core"},
		{"plan", "--evidence", evidence, "--stack", "mlnx-ofed"},
		{"plan", "--evidence", evidence, "--stack", "doca-ofed"},
		{"plan", "--evidence", vendor, "--profile", "inbox"},
		{"plan", "--evidence", evidence, "--compare"},
		{"plan", "--evidence", rhel},
		{"plan", "--evidence", rhel, "--stack", "rdma-core"},
		{"plan", "--evidence", rhel, "--stack", "mlnx-ofed"},
		{"plan", "--evidence", rhel, "--stack", "doca-ofed"},
		{"plan", "--evidence", rhel, "--stack", "ofed"},
		{"plan", "--evidence", el7, "--stack", "ofed"},
		{"plan", "--evidence", rhel, "--compare"},
		{"plan", "--evidence", rhel, "--profile", "soft"},
		{"matrix", "query", "--distro", "sles", "--version-id", "15.5", "--card", "connectx-6"},
		{"matrix", "lint", holding},
		{"version"},
		{"explain"},
		{"explain", "no-gid"},
		{"profiles", "list"},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), os.TempDir(), ""), func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append(args, "-o", "json"), streams{in: strings.NewReader(""), out: &out, err: &errs})
			if code != 0 && code != 3 {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			checkSchema(t, out.Bytes())
			var p plan.Plan
			if args[0] == "plan" && json.Unmarshal(out.Bytes(), &p) == nil {
				for _, step := range p.Steps {
					kinds[step.Kind] = true
				}
			}
		})
	}
	for _, kind := range enums()[reflect.TypeFor[plan.Kind]()] {
		if !kinds[plan.Kind(kind)] {
			t.Errorf("no plan that was validated has a step of kind %s", kind)
		}
	}
}
