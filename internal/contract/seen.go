package contract

import (
	"embed"
	"path"
	"strings"
)

//go:embed seen
var seenFiles embed.FS

// Seen is a request of a real client, or a response of a real platform, from public code, tests and logs.
type Seen struct {
	Face     string // esb or apigw
	Endpoint string
	Name     string
	Body     []byte
}

// ID returns face/endpoint/name.
func (s Seen) ID() string { return path.Join(s.Face, s.Endpoint, s.Name) }

// Asked returns requests of other clients, which a platform accepts.
func Asked() []Seen { return seenWith("asked-") }

// Answered returns responses of platforms, which a client must be able to read.
func Answered() []Seen { return seenWith("answer-") }

// Answer returns the response with an ID. It panics if there is none.
func Answer(id string) Seen {
	for _, s := range Answered() {
		if s.ID() == id {
			return s
		}
	}
	panic("contract: no answer " + id)
}

func seenWith(kind string) []Seen {
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
