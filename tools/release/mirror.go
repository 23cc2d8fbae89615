package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/dirhash"
)

// registries are the host names that Terraform and OpenTofu put before the source "blueking/bk".
var registries = []string{"registry.terraform.io", "registry.opentofu.org"}

// handouts are the text files of the mirror; VERSION is replaced by the version.
//
//go:embed mirror
var handouts embed.FS

// modules is the directory of the modules that are released with the provider, in the repository.
const modules = "examples/modules"

var archiveName = regexp.MustCompile(`^terraform-provider-bk_(.+)_([a-z0-9]+_[a-z0-9]+)\.zip$`)

// archive is the provider for one platform.
type archive struct {
	name, platform string
	content        []byte
	hashes         []string // in both forms: of the files in it (h1:), and of the archive itself (zh:)
}

// packMirror packs the archives of a release as a filesystem mirror, and signs it. Served over HTTPS, it
// is also a network mirror.
func packMirror(dist string) error {
	version, archives, err := readArchives(dist)
	if err != nil {
		return err
	}
	base := filepath.Join(dist, "terraform-provider-bk_"+version+"_mirror.tar.gz")
	if err := writeMirror(base, version, dist, archives); err != nil {
		return err
	}
	content, err := os.ReadFile(base)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	if err := os.WriteFile(base+".sha256", fmt.Appendf(nil, "%x  %s\n", sum, filepath.Base(base)), 0o644); err != nil {
		return err
	}
	return sign(base+".sha256", base+".sha256.sig")
}

func readArchives(dist string) (version string, archives []archive, err error) {
	entries, err := os.ReadDir(dist)
	if err != nil {
		return "", nil, err
	}
	for _, entry := range entries {
		parts := archiveName.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		if version != "" && version != parts[1] {
			return "", nil, fmt.Errorf("%s has versions %s and %s", dist, version, parts[1])
		}
		version = parts[1]
		path := filepath.Join(dist, entry.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		inside, err := dirhash.HashZip(path, dirhash.Hash1)
		if err != nil {
			return "", nil, err
		}
		sum := sha256.Sum256(content)
		archives = append(archives, archive{
			name: entry.Name(), platform: parts[2], content: content,
			hashes: []string{inside, "zh:" + hex.EncodeToString(sum[:])},
		})
	}
	if len(archives) == 0 {
		return "", nil, fmt.Errorf("%s has no archives", dist)
	}
	slices.SortFunc(archives, func(a, b archive) int { return cmp.Compare(a.platform, b.platform) })
	return version, archives, nil
}

// writeMirror writes the mirror. It contains neither the time nor an author, so that it is reproducible.
func writeMirror(name, version, dist string, archives []archive) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zipped := gzip.NewWriter(file)
	p := packer{tar: tar.NewWriter(zipped), root: strings.TrimSuffix(filepath.Base(name), ".tar.gz") + "/"}

	if err := errors.Join(p.handouts(version), p.modules(), p.doctors(dist)); err != nil {
		return err
	}
	sums := "terraform-provider-bk_" + version + "_SHA256SUMS"
	for _, signed := range []string{sums, sums + ".sig"} {
		content, err := os.ReadFile(filepath.Join(dist, signed))
		if err != nil {
			return err
		}
		p.file(signed, content, 0o644)
	}
	for _, registry := range registries {
		p.provider("providers/"+registry+"/blueking/bk/", version, archives)
	}
	return errors.Join(p.err, p.tar.Close(), zipped.Close())
}

// packer writes files below root. err is the first error.
type packer struct {
	tar   *tar.Writer
	root  string
	first string // the directory with the archives, to which those for other registries are links
	err   error
}

func (p *packer) handouts(version string) error {
	entries, err := handouts.ReadDir("mirror")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := handouts.ReadFile("mirror/" + entry.Name())
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if strings.HasSuffix(entry.Name(), ".sh") {
			mode = 0o755
		}
		p.file(entry.Name(), []byte(strings.ReplaceAll(string(content), "VERSION", version)), mode)
	}
	return nil
}

// modules writes the modules, without their tests, which need the repository.
func (p *packer) modules() error {
	names, err := filepath.Glob(filepath.Join(modules, "*", "*"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there are no modules in %s", modules)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if ext := filepath.Ext(name); ext != ".tf" && ext != ".md" {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		p.file("modules/"+filepath.ToSlash(strings.TrimPrefix(name, filepath.FromSlash(modules+"/"))), content, 0o644)
	}
	return nil
}

// doctors writes the archives of bk-doctor, which belong to no registry.
func (p *packer) doctors(dist string) error {
	names, err := filepath.Glob(filepath.Join(dist, "bk-doctor_*.zip"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has no archives of bk-doctor", dist)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		p.file("doctor/"+filepath.Base(name), content, 0o644)
	}
	return nil
}

// provider writes index.json, VERSION.json and the archives, in the layout of both the provider network
// mirror protocol and packed filesystem mirrors.
func (p *packer) provider(dir, version string, archives []archive) {
	type offer struct {
		Hashes []string `json:"hashes"`
		URL    string   `json:"url"`
	}
	offers := make(map[string]offer, len(archives))
	for _, a := range archives {
		offers[a.platform] = offer{Hashes: a.hashes, URL: a.name}
	}
	p.json(dir+"index.json", map[string]any{"versions": map[string]any{version: struct{}{}}})
	p.json(dir+version+".json", map[string]any{"archives": offers})
	for _, a := range archives {
		if p.first == "" {
			p.file(dir+a.name, a.content, 0o644)
		} else {
			p.link(dir+a.name, p.first+a.name)
		}
	}
	p.first = dir
}

func (p *packer) json(name string, value any) {
	content, err := json.MarshalIndent(value, "", "  ")
	p.err = cmp.Or(p.err, err)
	p.file(name, append(content, '\n'), 0o644)
}

func (p *packer) file(name string, content []byte, mode int64) {
	p.header(&tar.Header{Typeflag: tar.TypeReg, Name: p.root + name, Size: int64(len(content)), Mode: mode})
	if p.err == nil {
		_, p.err = p.tar.Write(content)
	}
}

func (p *packer) link(name, to string) {
	p.header(&tar.Header{Typeflag: tar.TypeLink, Name: p.root + name, Linkname: p.root + to, Mode: 0o644})
}

func (p *packer) header(header *tar.Header) {
	header.ModTime = time.Unix(0, 0)
	if p.err == nil {
		p.err = p.tar.WriteHeader(header)
	}
}
