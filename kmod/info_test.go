package kmod

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/rdmactl/rdmactl/host"
)

const sampleText = `filename:       /lib/modules/6.1.0-9-amd64/kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko
version:        24.10-1.1.4
license:        Dual BSD/GPL
description:    first line
		signer:         nobody
alias:          auxiliary:mlx5_core.rdma
alias:          pci:v000015B3d00001017sv*sd*bc*sc*i*
softdep:        pre: mlx5_core post: ib_ipoib
firmware:       mellanox/fw.bin
srcversion:     0123456789ABCDEF
depends:        ib_uverbs,mlx5_core
intree:         Y
name:           mlx5_ib
vermagic:       6.1.0-9-amd64 SMP preempt mod_unload modversions 
sig_id:         PKCS#7
signer:         Example build key
sig_key:        25:AB
sig_hashalgo:   sha256
signature:      A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:A5:
		A5:A5:A5:A5:A5
parm:           second:array of int
parm:           first:a number (0: off) (int)
`

const samplePath = "/lib/modules/6.1.0-9-amd64/kernel/drivers/infiniband/hw/mlx5/mlx5_ib.ko"

func sampleInfo(filename string) Info {
	return Info{
		Name: "mlx5_ib", Filename: filename, Version: "24.10-1.1.4", SrcVersion: "0123456789ABCDEF",
		Vermagic: "6.1.0-9-amd64 SMP preempt mod_unload modversions", KernelRelease: "6.1.0-9-amd64",
		License: "Dual BSD/GPL", Description: "first line\nsigner:         nobody",
		Depends:   []string{"ib_uverbs", "mlx5_core"},
		Softdeps:  []Softdep{{Pre: []string{"mlx5_core"}, Post: []string{"ib_ipoib"}}},
		Aliases:   []string{"auxiliary:mlx5_core.rdma", "pci:v000015B3d00001017sv*sd*bc*sc*i*"},
		Firmware:  []string{"mellanox/fw.bin"},
		Params:    []Param{{Name: "second", Type: "array of int"}, {Name: "first", Desc: "a number (0: off)", Type: "int"}},
		Intree:    true,
		Signature: Signature{Present: true, ID: "PKCS#7", Signer: "Example build key", Key: "25:AB", HashAlgo: "sha256"},
	}
}

func TestDecodeLaysOutAsModinfo(t *testing.T) {
	image := sign(t, module(sample()), "Example build key")
	got, err := Decode(samplePath, bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleText, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestReadFileUnpacks(t *testing.T) {
	image := sign(t, module(sample()), "Example build key")
	for _, suffix := range []string{".ko", ".ko.gz", ".ko.xz", ".ko.zst"} {
		t.Run(suffix, func(t *testing.T) {
			file := strings.TrimSuffix(samplePath, ".ko") + suffix
			h := &fakeHost{t: t, files: map[string]string{file: string(pack(t, suffix, image))}}
			got, err := ReadFile(context.Background(), h, file, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sampleInfo(file), got); diff != "" {
				t.Errorf("info (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"modinfo " + file}, h.asked); diff != "" {
				t.Errorf("evidence keys (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnsignedAndUnreadableSignature(t *testing.T) {
	for name, tc := range map[string]struct {
		image []byte
		want  Signature
	}{
		"unsigned":          {module(sample()), Signature{}},
		"signer not told":   {appendSignature(module(sample()), []byte("not DER")), Signature{Present: true, ID: "PKCS#7"}},
		"signed, no issuer": {sign(t, module(sample()), ""), Signature{Present: true, ID: "PKCS#7", Key: "25:AB", HashAlgo: "sha256"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Decode(samplePath, bytes.NewReader(tc.image), int64(len(tc.image)))
			if err != nil {
				t.Fatal(err)
			}
			info, err := ParseModinfo(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, info.Signature); diff != "" {
				t.Errorf("signature (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeBelievesNoClaim(t *testing.T) {
	image := module(append(sample(), "signer=Somebody Trusted", "filename=/lib/modules/other.ko", "x\nsigner=y", "sig_id=PKCS#7"))
	text, err := Decode(samplePath, bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	info, err := ParseModinfo(text)
	if err != nil {
		t.Fatal(err)
	}
	want := sampleInfo(samplePath)
	want.Signature = Signature{}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := module(sample())
	xzGood := pack(t, ".ko.xz", good)
	damage := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0xff
		return b
	}
	signed := sign(t, good, "x")
	signed = damage(signed, len(signed)-len(signatureMagic)-4) // top byte of the length
	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                    {nil, "too short"},
		"text":                     {[]byte("no module at all"), "neither ELF nor xz"},
		"truncated ELF":            {good[:len(good)-70], "cannot read module as ELF"},
		"no .modinfo":              {elfModule(map[string][]byte{".text": {0x90}}), "no section .modinfo"},
		"truncated xz":             {xzGood[:len(xzGood)/2], "unexpected EOF"},
		"xz damaged data":          {damage(xzGood, 40), "cannot unpack"},
		"xz damaged header":        {damage(xzGood, 14), "xz: block header is damaged"},
		"truncated zstd":           {pack(t, ".ko.zst", good)[:60], "EOF"},
		"truncated gzip":           {pack(t, ".ko.gz", good)[:60], "unexpected EOF"},
		"signature longer than it": {signed, "length"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Decode("/x.ko", bytes.NewReader(tc.data), int64(len(tc.data)))
			if err == nil {
				t.Fatalf("no error, text %q", text)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q does not contain %q", err, tc.want)
			}
		})
	}
}

// TestBombs packs zeros to little more than the limit, and to the limit itself as the twin.
func TestBombs(t *testing.T) {
	const limit = 16 << 20 // above the window that a zstd file asks for
	for _, suffix := range []string{".ko.gz", ".ko.zst", ".ko.xz"} {
		t.Run(suffix, func(t *testing.T) {
			bomb := packZeros(t, suffix, limit+1)
			if len(bomb) > limit/100 {
				t.Fatalf("%d bytes packed: not a bomb", len(bomb))
			}
			_, err := decode("/x.ko", bytes.NewReader(bomb), int64(len(bomb)), limit)
			if !errors.Is(err, errTooLarge) && !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				t.Errorf("one byte too many: %v", err)
			}
			fits := packZeros(t, suffix, limit)
			_, err = decode("/x.ko", bytes.NewReader(fits), int64(len(fits)), limit)
			if err == nil || !strings.Contains(err.Error(), "as ELF") {
				t.Errorf("as many as allowed: %v, want to be told that zeros are no ELF", err)
			}
		})
	}
}

func packZeros(t *testing.T, suffix string, n int) []byte {
	t.Helper()
	if suffix != ".ko.xz" {
		return pack(t, suffix, make([]byte, n))
	}
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestXZDictionaryIsBounded(t *testing.T) {
	var b bytes.Buffer
	w, err := (xz.WriterConfig{DictCap: 1 << 20}).NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(module(sample())); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	header := bytes.Clone(b.Bytes()[12 : 12+(int(b.Bytes()[12])+1)*4])
	if _, err := blockDictionary(header); err != nil {
		t.Fatalf("sound header: %v", err)
	}
	at := bytes.Index(header, []byte{0x21, 1})
	header[at+2] = 40 // 4 GiB
	sum := headerSum(header)
	copy(header[len(header)-4:], sum[:])
	if _, err := blockDictionary(header); err == nil || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("4 GiB dictionary: error %v", err)
	}
}

func TestParseModinfoExcerptAndBuiltin(t *testing.T) {
	got, err := ParseModinfo("filename:       /lib/modules/3.10.0-957.el7.x86_64/kernel/drivers/nvme/host/nvme-rdma.ko.xz\nrhelversion:    7.6\ndepends:        rdma_cm,ib_core\nintree:         Y\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Info{
		Name: "nvme_rdma", Filename: "/lib/modules/3.10.0-957.el7.x86_64/kernel/drivers/nvme/host/nvme-rdma.ko.xz",
		Depends: []string{"rdma_cm", "ib_core"}, Intree: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("excerpt (-want +got):\n%s", diff)
	}
	got, err = ParseModinfo("name:           mlx5_core\nfilename:       (builtin)\nlicense:        Dual BSD/GPL\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Info{Name: "mlx5_core", Builtin: true, License: "Dual BSD/GPL"}, got); diff != "" {
		t.Errorf("built in (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "modinfo printed nothing\n", "filename: /a.ko\nfilename: /b.ko\n"} {
		if info, err := ParseModinfo(bad); err == nil {
			t.Errorf("ParseModinfo(%q) = %+v, want an error", bad, info)
		}
	}
}

func TestReadFromEvidence(t *testing.T) {
	const text = "filename:       /lib/modules/5.15.0-1/updates/dkms/mlx5_core.ko\nversion:        23.07\n"
	ctx := context.Background()
	h := func(commands map[string]host.Result) *fakeHost {
		return &fakeHost{t: t, silent: true, commands: commands}
	}
	typed := map[string]host.Result{"modinfo mlx5_core": {Stdout: text}}

	for _, kernel := range []string{"", "5.15.0-1"} {
		info, err := Read(ctx, h(typed), kernel, "mlx5_core")
		if err != nil || info.Version != "23.07" {
			t.Errorf("kernel %q: version %q, error %v", kernel, info.Version, err)
		}
	}
	if info, err := Read(ctx, h(typed), "6.1.0", "mlx5_core"); !errors.Is(err, host.ErrUnknown) {
		t.Errorf("text of another kernel: %+v, %v; want unknown", info, err)
	}
	if _, err := Read(ctx, h(typed), "5.15.0-1", "mlx5_ib"); !errors.Is(err, host.ErrUnknown) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("silence: %v, want unknown", err)
	}
	absent := map[string]host.Result{"modinfo mlx5_core": {Stderr: "modinfo: ERROR: Module mlx5_core not found.\n", Exit: 1}}
	if _, err := Read(ctx, h(absent), "", "mlx5_core"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("modinfo says not found: %v", err)
	}
	noProgram := map[string]host.Result{"modinfo mlx5_core": {Stderr: "bash: modinfo: command not found\n", Exit: 127}}
	if _, err := Read(ctx, h(noProgram), "", "mlx5_core"); errors.Is(err, fs.ErrNotExist) || !errors.Is(err, host.ErrUnknown) {
		t.Errorf("no modinfo program: %v, want unknown", err)
	}
	if _, err := Read(ctx, h(nil), "", "--version"); err == nil {
		t.Error("an option was taken for a module")
	}
}
