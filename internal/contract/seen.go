package contract

import (
	"embed"
	"path"
	"strings"
)

//go:embed seen
var seenFiles embed.FS

// Seen is a request or an answer of a real client or platform, as public code, tests and
// logs show it.
type Seen struct {
	Face     string // esb or apigw
	Endpoint string
	Name     string
	Body     []byte
}

// ID is face/endpoint/name.
func (s Seen) ID() string { return path.Join(s.Face, s.Endpoint, s.Name) }

// Asked are the requests that other clients send, which a platform takes.
func Asked() []Seen { return seen("asked-") }

// Answered are the answers that platforms give, which a client has to read.
func Answered() []Seen { return seen("answer-") }

// Answer is the answer of an ID. It panics where there is none.
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
