package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// entry is one file of a tar.
type entry struct {
	header tar.Header
	data   []byte
}

// packed writes entries as they are, sound or not.
func packed(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := e.header
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg && h.Size == 0 {
			h.Size = int64(len(e.data))
		}
		must(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write(e.data)
			must(t, err)
		}
	}
	must(t, w.Close())
	return out.Bytes()
}

// parts are the entries of a sound bundle, with a manifest that edit changes after all is in it.
func parts(t testing.TB, s Signer, edit func(*Manifest)) []entry {
	t.Helper()
	m, blobs := sample()
	m.Schema, m.Fingerprint = Schema, s.Fingerprint()
	var err error
	m.Key, err = s.Public()
	must(t, err)
	slices.SortFunc(blobs, func(a, b Blob) int { return strings.Compare(a.SHA256, b.SHA256) })
	blobs = slices.CompactFunc(blobs, func(a, b Blob) bool { return a.SHA256 == b.SHA256 })
	for _, b := range blobs {
		m.Contents = append(m.Contents, b.Content)
	}
	if edit != nil {
		edit(&m)
	}
	text, err := m.encode()
	must(t, err)
	return around(t, s, text, blobs)
}

func around(t testing.TB, s Signer, text []byte, blobs []Blob) []entry {
	t.Helper()
	signature, err := s.Detached(text)
	must(t, err)
	out := []entry{{tar.Header{Name: manifestName, Format: tar.FormatUSTAR}, text}, {tar.Header{Name: signatureName, Format: tar.FormatUSTAR}, signature}}
	for _, b := range blobs {
		out = append(out, entry{tar.Header{Name: poolDir + b.SHA256, Format: tar.FormatUSTAR}, b.Text})
	}
	return out
}

func check(data []byte) error {
	b, err := read(bytes.NewReader(data), int64(len(data)))
	if err == nil {
		_, err = b.Verify(context.Background(), nil)
	}
	return err
}

// TestHostileArchives are bundles that differ from a sound one in one way each.
func TestHostileArchives(t *testing.T) {
	keys := newSigners(t)
	s := keys.one
	sound := parts(t, s, nil)
	if err := check(packed(t, sound...)); err != nil {
		t.Fatalf("the sound one: %v", err)
	}
	whole := packed(t, sound...)
	with := func(i int, change func(*entry)) []byte {
		all := slices.Clone(sound)
		change(&all[i])
		return packed(t, all...)
	}
	named := func(name string) func(*entry) { return func(e *entry) { e.header.Name = name } }
	kind := func(flag byte, target string) func(*entry) {
		return func(e *entry) {
			e.header.Typeflag, e.header.Linkname, e.data = flag, target, nil
		}
	}
	flipped := func(at int) []byte {
		out := slices.Clone(whole)
		out[at] ^= 1
		return out
	}
	third := bytes.Index(whole, []byte(poolDir))
	for name, one := range map[string]struct {
		data []byte
		says string
	}{
		"empty":                {nil, "ends too early"},
		"no tar":               {bytes.Repeat([]byte("no tar "), 1000), "no header of a tar"},
		"zeros":                {make([]byte, 4096), "its end"},
		"no manifest":          {packed(t, sound[1:]...), "manifest.json is expected"},
		"another name":         {with(0, named("./manifest.json")), "manifest.json is expected"},
		"traversal":            {with(2, named("../../../etc/cron.d/x")), `"../../../etc/cron.d/x"`},
		"absolute":             {with(2, named("/etc/cron.d/x")), `"/etc/cron.d/x"`},
		"symbolic link":        {with(2, kind(tar.TypeSymlink, "/etc/passwd")), "by its manifest"},
		"hard link":            {with(2, kind(tar.TypeLink, "manifest.json")), "by its manifest"},
		"device":               {with(2, kind(tar.TypeBlock, "")), "by its manifest"},
		"pipe":                 {with(2, kind(tar.TypeFifo, "")), "by its manifest"},
		"manifest is a link":   {with(0, kind(tar.TypeSymlink, "/etc/passwd")), "a symbolic link"},
		"twice":                {packed(t, append(slices.Clone(sound), sound[2])...), "something was added"},
		"the same twice":       {packed(t, sound[0], sound[1], sound[2], sound[2]), "by its manifest"},
		"another order":        {packed(t, sound[0], sound[1], sound[3], sound[2]), "is expected"},
		"an extra file":        {packed(t, append(slices.Clone(sound), entry{tar.Header{Name: "run-me.sh"}, []byte("#!/bin/sh\n")})...), "something was added"},
		"a file less":          {packed(t, sound[:3]...), "cut off"},
		"another mode":         {with(2, func(e *entry) { e.header.Mode = 0o4755 }), "is expected"},
		"an owner":             {with(2, func(e *entry) { e.header.Uid = 1000 }), "is expected"},
		"extended header":      {with(2, func(e *entry) { e.header.Format, e.header.PAXRecords = tar.FormatPAX, map[string]string{"X.y": "z"} }), "by its manifest"},
		"cut within a file":    {whole[:len(whole)-2000], "cut off"},
		"cut in the manifest":  {whole[:700], "ends within manifest.json"},
		"without its end":      {whole[:len(whole)-end], "cut off"},
		"more behind":          {append(slices.Clone(whole), 0), "something was added"},
		"something at its end": {flipped(len(whole) - 3), "where its end is expected"},
		"edited manifest":      {flipped(block + 100), ""},
		"edited signature":     {flipped(bytes.Index(whole, []byte("-----BEGIN PGP SIGNATURE")) + 200), "signature of its manifest"},
		"edited content":       {flipped(third + block + 3), "has the SHA-256"},
		"edited padding":       {flipped(block + len(sound[0].data)), "stands behind"},
		"edited header":        {flipped(third + 150), "is expected"},
		"signed by another":    {packed(t, around(t, keys.other, sound[0].data, nil)...), ""},
	} {
		refused(t, name, check(one.data), one.says)
	}
}

// TestHugeSizes have headers that claim more than there is: nothing of that size may be made.
func TestHugeSizes(t *testing.T) {
	for _, size := range []int64{maxManifest + 1, 8<<30 - 1, maxManifest - 5} {
		head, err := header(manifestName, size)
		must(t, err)
		before := testing.AllocsPerRun(1, func() { _ = check(append(slices.Clone(head), 1, 2, 3)) })
		refused(t, "a huge manifest", check(append(slices.Clone(head), 1, 2, 3)), manifestName)
		if before > 1000 {
			t.Errorf("%v allocations for %d bytes", before, size)
		}
	}
}

// TestHostileManifests are signed by their own key and consistent with their archive, so that the rules for the
// manifest alone refuse them.
func TestHostileManifests(t *testing.T) {
	s := newSigners(t).one
	path := func(p string) func(*Manifest) { return func(m *Manifest) { m.Repositories[0].Files[0].Path = p } }
	cases := map[string]struct {
		edit func(*Manifest)
		says string
	}{
		"schema":             {func(m *Manifest) { m.Schema = "rdmactl.bundle/v9" }, `schema "rdmactl.bundle/v9"`},
		"no schema":          {func(m *Manifest) { m.Schema = "" }, "schema"},
		"no hosts":           {func(m *Manifest) { m.Hosts = nil }, "no host"},
		"no date":            {func(m *Manifest) { m.Made = time.Time{} }, "when it was made"},
		"size":               {func(m *Manifest) { m.Contents[0].Bytes = -1 }, "-1 bytes"},
		"huge size":          {func(m *Manifest) { m.Contents[0].Bytes = 1 << 50 }, "bytes"},
		"larger than it is":  {func(m *Manifest) { m.Contents[0].Bytes += 10 * block }, "cut off"},
		"checksum":           {func(m *Manifest) { m.Contents[0].SHA256 = "../../../etc/passwd" }, "checksum"},
		"content twice":      {func(m *Manifest) { m.Contents[1] = m.Contents[0] }, "not in order"},
		"order":              {func(m *Manifest) { slices.Reverse(m.Contents) }, "not in order"},
		"content unused":     {func(m *Manifest) { m.Repositories[0].Files = m.Repositories[0].Files[:1] }, "which no repository has"},
		"content missing":    {func(m *Manifest) { m.Repositories[0].Files[0].SHA256 = strings.Repeat("0", 64) }, "not in it"},
		"file twice":         {func(m *Manifest) { m.Repositories[0].Files[1].Path = m.Repositories[0].Files[0].Path }, "two files"},
		"file and directory": {func(m *Manifest) { m.Repositories[0].Files[1].Path = "packages" }, "as a directory"},
		"repository twice":   {func(m *Manifest) { m.Repositories[1].ID = m.Repositories[0].ID }, "twice"},
		"repository name":    {func(m *Manifest) { m.Repositories[1].ID = "../x" }, "no name"},
		"form":               {func(m *Manifest) { m.Repositories[1].Form = "apk" }, "form"},
		"host's repository":  {func(m *Manifest) { m.Hosts[0].Repository = "debian-13-x86_64" }, "does not have"},
		"build":              {func(m *Manifest) { m.Hosts[0].Request.Build = "../x" }, "builds from"},
		"key":                {func(m *Manifest) { m.Key = "none" }, "signature of its manifest"},
		"fingerprint":        {func(m *Manifest) { m.Fingerprint = strings.Repeat("A", 40) }, "is signed by"},
		"too many hosts":     {func(m *Manifest) { m.Hosts = make([]Host, maxHosts+1) }, "more than"},
	}
	for _, p := range []string{"", ".", "..", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "a\x00b", "a\nb", "-rf", ".hidden", "a b", "packages/", "\u202e", strings.Repeat("a/", 300) + "a"} {
		cases["path "+p] = struct {
			edit func(*Manifest)
			says string
		}{path(p), "names the file"}
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		refused(t, name, check(packed(t, parts(t, s, cases[name].edit)...)), cases[name].says)
	}
	if err := check(packed(t, parts(t, s, path("packages/other_1_all.deb"))...)); err != nil {
		t.Errorf("a manifest with another sound path: %v", err)
	}
}

// TestStrangeManifests are no manifests of this schema, though signed.
func TestStrangeManifests(t *testing.T) {
	s := newSigners(t).one
	for name, one := range map[string]struct{ text, says string }{
		"no JSON":        {"nothing", "no JSON"},
		"an unknown key": {`{"schema": "rdmactl.bundle/v1", "run": "rm -rf /"}`, "unknown field"},
		"more behind":    {`{"schema": "rdmactl.bundle/v1"} {}`, ""},
		"another type":   {`{"schema": 7}`, "no JSON"},
		"a list":         {`[]`, "no JSON"},
		"empty":          {``, "no JSON"},
	} {
		refused(t, name, check(packed(t, around(t, s, []byte(one.text), nil)...)), one.says)
	}
}

// FuzzReadBundle gives the reader any bytes: it answers with a sound bundle or a refusal, and never takes a bundle
// whose contents are other than its manifest says.
func FuzzReadBundle(f *testing.F) {
	keys := newSigners(f)
	whole := packed(f, parts(f, keys.one, nil)...)
	f.Add(whole)
	f.Add(whole[:2000])
	f.Add(packed(f, parts(f, keys.one, func(m *Manifest) { m.Repositories[0].Files[0].Path = "../x" })...))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if _, err := b.Verify(context.Background(), nil); err != nil {
			return
		}
		for _, c := range b.Manifest.Contents {
			at := b.offsets[c.SHA256]
			if got := TextBlob(data[at : at+c.Bytes]).SHA256; got != c.SHA256 {
				t.Fatalf("the content %s was taken for %s", got, c.SHA256)
			}
		}
		for _, r := range b.Manifest.Repositories {
			for _, file := range r.Files {
				if strings.HasPrefix(file.Path, "/") || slices.Contains(strings.Split(file.Path, "/"), "..") {
					t.Fatalf("the path %q was taken", file.Path)
				}
			}
		}
	})
}

// FuzzBundleManifest gives the rules for a manifest any JSON, past its signature.
func FuzzBundleManifest(f *testing.F) {
	m, blobs := sample()
	m.Schema = Schema
	for _, b := range blobs[:2] {
		m.Contents = append(m.Contents, b.Content)
	}
	slices.SortFunc(m.Contents, func(a, b Content) int { return strings.Compare(a.SHA256, b.SHA256) })
	text, err := json.Marshal(m)
	must(f, err)
	f.Add(text)
	f.Add([]byte(`{"schema":"rdmactl.bundle/v1","hosts":[{}],"repositories":[{"id":"a","form":"deb","files":[{"path":"../x"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		for _, r := range m.Repositories {
			seen := map[string]bool{}
			for _, file := range r.Files {
				if strings.HasPrefix(file.Path, "/") || slices.Contains(strings.Split(file.Path, "/"), "..") || strings.ContainsAny(file.Path, "\x00\\\n ") || seen[file.Path] {
					t.Fatalf("the path %q was taken", file.Path)
				}
				seen[file.Path] = true
			}
		}
	})
}
