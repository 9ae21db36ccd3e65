package holdings

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// The parts of rpm metadata that are read.
type (
	xmlSum struct {
		Type string `xml:"type,attr"`
		Sum  string `xml:",chardata"`
	}
	xmlLocation struct {
		Href string `xml:"href,attr"`
		Base string `xml:"base,attr"`
	}
	repomdData struct {
		Type     string      `xml:"type,attr"`
		Sum      xmlSum      `xml:"checksum"`
		OpenSum  xmlSum      `xml:"open-checksum"`
		Location xmlLocation `xml:"location"`
		Size     *int64      `xml:"size"`
		OpenSize *int64      `xml:"open-size"`
	}
	repomd struct {
		XMLName xml.Name     `xml:"repomd"`
		Data    []repomdData `xml:"data"`
	}
	xmlVersion struct {
		Epoch   string `xml:"epoch,attr"`
		Version string `xml:"ver,attr"`
		Release string `xml:"rel,attr"`
	}
	primaryPackage struct {
		Type     string      `xml:"type,attr"`
		Name     string      `xml:"name"`
		Arch     string      `xml:"arch"`
		Version  xmlVersion  `xml:"version"`
		Sum      xmlSum      `xml:"checksum"`
		Location xmlLocation `xml:"location"`
		Requires []xmlEntry  `xml:"format>requires>entry"`
		Provides []xmlEntry  `xml:"format>provides>entry"`
		Size     struct {
			Package   int64 `xml:"package,attr"`
			Installed int64 `xml:"installed,attr"`
		} `xml:"size"`
	}
	filesPackage struct {
		ID      string     `xml:"pkgid,attr"`
		Name    string     `xml:"name,attr"`
		Version xmlVersion `xml:"version"`
		Files   []string   `xml:"file"`
	}
)

// checkXML refuses what metadata never has: a document type, and with it entities.
func checkXML(name string, data []byte) error {
	for rest := data; ; {
		i := bytes.Index(rest, []byte("<!"))
		if i < 0 {
			return nil
		}
		rest = rest[i+2:]
		if !bytes.HasPrefix(rest, []byte("--")) && !bytes.HasPrefix(rest, []byte("[CDATA[")) {
			return refuse(hintHostile, "%s declares a document type or entities", name)
		}
	}
}

func parseRepomd(data []byte) (repomd, error) {
	if err := checkXML("repomd.xml", data); err != nil {
		return repomd{}, err
	}
	var r repomd
	if err := xml.Unmarshal(data, &r); err != nil {
		return repomd{}, refuse(hintDamaged, "repomd.xml cannot be read: %w", err)
	}
	return r, nil
}

// index finds one kind of metadata; ok is false when it is not named.
func (r repomd) index(kind string) (d repomdData, name string, ok bool, err error) {
	for _, d := range r.Data {
		if d.Type != kind {
			continue
		}
		if d.Location.Base != "" {
			return d, "", false, refuse("mirror the repository whole, and name the mirror", "%s of the repository stands elsewhere", kind)
		}
		name, err := checkPath(d.Location.Href)
		return d, name, err == nil, err
	}
	return repomdData{}, "", false, nil
}

// eachPackage gives each element package of an index.
func eachPackage[T any](name string, data []byte, each func(T) error) error {
	if err := checkXML(name, data); err != nil {
		return err
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refuse(hintDamaged, "%s cannot be read: %w", name, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "package" {
			continue
		}
		var one T
		if err := d.DecodeElement(&one, &start); err != nil {
			return refuse(hintDamaged, "%s cannot be read: %w", name, err)
		}
		if err := each(one); err != nil {
			return err
		}
	}
}

func parsePrimary(name string, data []byte) ([]pkg, error) {
	var list []pkg
	err := eachPackage(name, data, func(x primaryPackage) error {
		if len(list) == maxPackages {
			return refuse(hintHostile, "%s has more than %d packages", name, maxPackages)
		}
		if x.Type != "rpm" {
			return nil
		}
		one := pkg{sum: stated{x.Size.Package, x.Sum.Type, x.Sum.Sum}}
		one.Name, one.Arch, one.Bytes = x.Name, x.Arch, x.Size.Package
		one.Installed = max(0, x.Size.Installed)
		one.Version = evr(x.Version.Epoch, x.Version.Version, x.Version.Release)
		if err := checkPackage(one.Name, one.Version, one.Arch); err != nil {
			return err
		}
		if x.Location.Base != "" {
			return refuse("mirror the repository whole, and name the mirror", "package %s stands elsewhere", one.Name)
		}
		if one.Bytes < 0 {
			return refuse(hintDamaged, "%s states a size below 0 for package %s", name, one.Name)
		}
		var err error
		if one.path, err = checkPath(x.Location.Href); err != nil {
			return err
		}
		one.kernels = kernelsOfRPM(one.Name, one.Version)
		one.relations = relationsOfXML(x.Requires, x.Provides)
		list = append(list, one)
		return nil
	})
	return list, err
}

// filesKey is how filelists name a package.
type filesKey struct{ name, version, sum string }

// parseFilelists gives the kernels of the driver packages.
func parseFilelists(name string, data []byte) (map[filesKey][]string, error) {
	kernels := map[filesKey][]string{}
	err := eachPackage(name, data, func(x filesPackage) error {
		if !isCoreDriver(x.Name) {
			return nil
		}
		k, err := kernelsOfPaths(x.Files)
		if err != nil {
			return err
		}
		kernels[filesKey{x.Name, evr(x.Version.Epoch, x.Version.Version, x.Version.Release), x.ID}] = k
		return nil
	})
	return kernels, err
}

// readRPMMD reads the rpm repository in a folder.
func (im *importer) readRPMMD(ctx context.Context, t tree, dir string) (*found, error) {
	t = sub(t, dir)
	if err := im.offerKeys(ctx, t, "."); err != nil {
		return nil, err
	}
	data, err := read(ctx, t, "repodata/repomd.xml", maxSmallFile)
	if err != nil {
		return nil, err
	}
	f := &found{at: dir}
	sig, err := read(ctx, t, "repodata/repomd.xml.asc", maxSmallFile)
	switch {
	case err == nil:
		if f.signed, err = im.judge.detached("repomd.xml", bytes.NewReader(data), sig); err != nil {
			return nil, err
		}
		f.signedIndex = f.signed != ""
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	each := false
	if sig == nil {
		each = len(im.judge.keys) > 0
		if !each {
			if err := im.judge.unsigned("the index of the repository (repomd.xml)"); err != nil {
				return nil, err
			}
		}
	}
	md, err := parseRepomd(data)
	if err != nil {
		return nil, err
	}
	primary, err := im.readMetadata(ctx, t, md, "primary")
	if err != nil {
		return nil, err
	}
	if primary == nil {
		return nil, refuse(hintDamaged, "repomd.xml names no list of packages")
	}
	if f.packages, err = parsePrimary("primary.xml", primary); err != nil {
		return nil, err
	}
	if err := im.checkFiles(t, f); err != nil {
		return nil, err
	}
	if each {
		return f, im.judgePackages(ctx, t, f)
	}
	return f, im.kernelsOfRPMs(ctx, t, md, f)
}

// readMetadata reads one index of a repomd.xml, nil when it has none of that kind.
func (im *importer) readMetadata(ctx context.Context, t tree, md repomd, kind string) ([]byte, error) {
	d, name, ok, err := md.index(kind)
	if err != nil || !ok {
		return nil, err
	}
	s := stated{-1, d.Sum.Type, d.Sum.Sum}
	if d.Size != nil {
		s.size = *d.Size
	}
	data, err := im.readIndex(ctx, t, ".", name, s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(hintDamaged, "%s, which repomd.xml names, is not there", name)
	}
	if err != nil {
		return nil, err
	}
	if d.OpenSum.Sum != "" {
		open := stated{-1, d.OpenSum.Type, d.OpenSum.Sum}
		if d.OpenSize != nil {
			open.size = *d.OpenSize
		}
		if err := open.check(name+" unpacked", data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// kernelsOfRPMs fills in the kernels of driver packages: from the repository's file lists, which are
// stated like the list of packages, else from the packages themselves.
func (im *importer) kernelsOfRPMs(ctx context.Context, t tree, md repomd, f *found) error {
	if !slices.ContainsFunc(f.packages, func(p pkg) bool { return isCoreDriver(p.Name) }) {
		return nil
	}
	data, err := im.readMetadata(ctx, t, md, "filelists")
	if err != nil {
		return err
	}
	kernels := map[filesKey][]string{}
	if data != nil {
		if kernels, err = parseFilelists("filelists.xml", data); err != nil {
			return err
		}
	}
	for i := range f.packages {
		p := &f.packages[i]
		if !isCoreDriver(p.Name) {
			continue
		}
		if k := kernels[filesKey{p.Name, p.Version, strings.TrimSpace(p.sum.sum)}]; len(k) > 0 {
			p.kernels = k
			continue
		}
		if data == nil {
			if err := im.readRPMKernels(ctx, t, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRPMKernels takes the kernels from a package's own list of files.
func (im *importer) readRPMKernels(ctx context.Context, t tree, p *pkg) error {
	file, err := t.open(ctx, p.path)
	if err != nil {
		return err
	}
	defer file.Close()
	r, ok := file.(readerAt)
	if !ok {
		return nil // in an archive or on the web: the name must do
	}
	if err := p.sum.checkFile(ctx, p.path, r); err != nil {
		return err
	}
	one, err := openRPM(p.path, io.NewSectionReader(r, 0, maxStream))
	if err != nil {
		return err
	}
	if one.Name != p.Name || one.Version != p.Version || one.Arch != p.Arch {
		return refuse(hintDamaged, "%s is package %s %s, not %s %s as the index states", p.path, one.Name, one.Version, p.Name, p.Version)
	}
	p.kernels = one.kernels
	return nil
}

// atOnce is how many packages are opened at a time: over the web each takes some round trips.
const atOnce = 8

// judgePackages is for repositories whose index is not signed, which is how the vendor's bundles come, and the
// repositories on its server: each package must then be signed itself, and only what its signed header says is
// taken. The headers are at the start of a file; of the rest nothing is read.
func (im *importer) judgePackages(ctx context.Context, t tree, f *found) error {
	signers, failed := make([]string, len(f.packages)), make([]error, len(f.packages))
	var work sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range f.packages {
		turns <- struct{}{}
		work.Go(func() {
			defer func() { <-turns }()
			signers[i], failed[i] = im.judgePackage(ctx, t, &f.packages[i])
		})
	}
	work.Wait()
	var kept []pkg
	for i, by := range signers {
		switch {
		case errors.Is(failed[i], fs.ErrNotExist): // on the web only here it shows
			f.gone = append(f.gone, f.packages[i])
			continue
		case failed[i] != nil:
			return failed[i]
		case len(kept) == 0:
			f.signed = by
		case by == "":
			f.signed = ""
		}
		kept = append(kept, f.packages[i])
	}
	if err := f.keep(kept); err != nil {
		return err
	}
	if f.signed != "" {
		f.note("the index is not signed; each of the %d packages is", len(f.packages))
	}
	return nil
}

// judgePackage takes what a package's signed header says, and gives the key that signed it.
func (im *importer) judgePackage(ctx context.Context, t tree, p *pkg) (string, error) {
	file, err := t.open(ctx, p.path)
	if err != nil {
		return "", err
	}
	one, err := openRPM(p.path, limit(ctx, file, maxStream, p.path))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	by, err := one.signature(im.judge, path.Base(p.path))
	if err != nil {
		return "", err
	}
	if one.Name != p.Name || one.Version != p.Version || one.Arch != p.Arch {
		return "", refuse(hintDamaged, "%s is package %s %s, not %s %s as the index states", p.path, one.Name, one.Version, p.Name, p.Version)
	}
	p.kernels = one.kernels
	p.relations = relationsOfHeader(one.parsed)
	return by, nil
}
