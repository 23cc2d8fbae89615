package contract

import (
	"embed"
	"path"
	"strings"
)

//go:embed seen
var seenFiles embed.FS

// Seen is a request or an answer of a real client or platform, from public code, tests and logs.
type Seen struct {
	Face     string // esb or apigw
	Endpoint string
	Name     string
	Body     []byte
}

// ID is face/endpoint/name.
func (s Seen) ID() string { return path.Join(s.Face, s.Endpoint, s.Name) }

// Asked are requests of other clients, which a platform accepts.
func Asked() []Seen { return seen("asked-") }

// Answered are answers of platforms, which a client must read.
func Answered() []Seen { return seen("answer-") }

// Answer is the answer with an ID. It panics if there is none.
func Answer(id string) Seen {
	for _, s := range Answered() {
		if s.ID() == id {
			return s
		}
	}
	panic("contract: no answer " + id)
}

func seen(kind string) []Seen {
	var all []Seen
	for _, face := range list(seenFiles, "seen") {
		for _, endpoint := range list(seenFiles, path.Join("seen", face)) {
			for _, file := range list(seenFiles, path.Join("seen", face, endpoint)) {
				name, found := strings.CutPrefix(strings.TrimSuffix(file, ".json"), kind)
				if !found {
					continue
				}
				raw, err := seenFiles.ReadFile(path.Join("seen", face, endpoint, file))
				if err != nil {
					panic("contract: " + err.Error())
				}
				all = append(all, Seen{Face: face, Endpoint: endpoint, Name: name, Body: raw})
			}
		}
	}
	return all
}
