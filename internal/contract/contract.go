package contract

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed testdata
var files embed.FS

// Case is one request and its response.
type Case struct {
	Face     string // esb, apigw, job, cmdb or cmdb-apigw
	Endpoint string // operate_proc_v2
	Name     string // "" for the first case of the endpoint
	Request  []byte
	Response []byte
}

// ID returns face/endpoint, followed by /name if there is a name.
func (c Case) ID() string { return path.Join(c.Face, c.Endpoint, c.Name) }

// Cases returns the cases of the faces, or of all faces if none is given, sorted by name.
func Cases(faces ...string) []Case {
	if len(faces) == 0 {
		faces = slices.DeleteFunc(list(files, "testdata"), func(name string) bool { return name == "script" })
	}
	var cases []Case
	for _, face := range faces {
		for _, endpoint := range list(files, path.Join("testdata", face)) {
			for _, name := range names(face, endpoint) {
				cases = append(cases, Case{
					Face: face, Endpoint: endpoint, Name: name,
					Request: body(face, endpoint, "request", name), Response: body(face, endpoint, "response", name),
				})
			}
		}
	}
	return cases
}

// Script returns the text of a script that the platform runs.
func Script(name string) string {
	raw, err := files.ReadFile(path.Join("testdata/script", name))
	if err != nil {
		panic("contract: " + err.Error())
	}
	return string(raw)
}

// Get returns the case with an ID. It panics if there is none, because IDs are constants in tests.
func Get(id string) Case {
	for _, c := range Cases() {
		if c.ID() == id {
			return c
		}
	}
	panic("contract: no case " + id)
}

// names returns the names of an endpoint's cases, first that of the first case, which is "".
func names(face, endpoint string) []string {
	named := []string{""}
	for _, file := range list(files, path.Join("testdata", face, endpoint)) {
		_, name, found := strings.Cut(strings.TrimSuffix(file, ".json"), "-")
		if found && !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	return named
}

// body returns the case's own body, or that of the first case if it has none.
func body(face, endpoint, kind, name string) []byte {
	folder := path.Join("testdata", face, endpoint)
	if name != "" {
		if raw, err := files.ReadFile(path.Join(folder, kind+"-"+name+".json")); err == nil {
			return withScripts(raw)
		}
	}
	raw, err := files.ReadFile(path.Join(folder, kind+".json"))
	if err != nil {
		panic("contract: " + err.Error())
	}
	return withScripts(raw)
}

// withScripts replaces placeholders for scripts, such as <read_hosted.sh>, by their texts.
func withScripts(raw []byte) []byte {
	if bytes.IndexByte(raw, '<') < 0 {
		return raw
	}
	for _, name := range list(files, "testdata/script") {
		encoded := base64.StdEncoding.EncodeToString([]byte(Script(name)))
		raw = bytes.ReplaceAll(raw, []byte("<base64 "+name+">"), []byte(encoded))
		if text, err := json.Marshal(Script(name)); err == nil {
			raw = bytes.ReplaceAll(raw, []byte(`"<`+name+`>"`), text)
		}
	}
	return raw
}

func list(from embed.FS, folder string) []string {
	entries, err := fs.ReadDir(from, folder)
	if err != nil {
		panic("contract: " + err.Error())
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}
