package bkapi

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// minSecretLen is the length of the shortest secret that is looked for. A shorter one would be found inside
// ordinary words.
const minSecretLen = 4

// secret is a text that is looked for character by character.
type secret struct {
	chars []rune
	// lossy says that the secret is found even if its characters beyond ASCII were lost. A secret without
	// enough ASCII characters is not lossy, because it would match every row of question marks.
	lossy bool
}

func newSecret(text string) secret {
	s := secret{chars: spelling(text).chars()}
	ascii := 0
	for _, char := range s.chars {
		if char < utf8.RuneSelf {
			ascii++
		}
	}
	s.lossy = ascii >= minSecretLen

	return s
}

// chars returns the characters of a text that is not encoded.
func (s spelling) chars() []rune {
	var chars []rune
	for next := s.plain(0); next.char != nothing; next = s.plain(next.end) {
		chars = append(chars, next.char)
	}

	return chars
}

// maxLost is the number of marks that may replace one lost character. Some encoders leave one for each byte.
const maxLost = utf8.UTFMax

// find returns the end of the secret that begins at place in the text, or -1 if it does not begin there. If it
// may end in several places, find returns the last.
func (s secret) find(text spelling, place int) int {
	// Most texts that begin like a secret soon differ from it in a plain character.
	known := 0
	for known < len(s.chars) && place < len(text) && isPlain(text[place]) {
		if rune(text[place]) != s.chars[known] {
			return -1
		}
		known++
		place++
	}
	if known == len(s.chars) {
		return place
	}

	return s.findRest(text, place, known)
}

// isPlain reports whether a byte is a character that can be read in one way only.
func isPlain(octet byte) bool {
	return octet < utf8.RuneSelf && strings.IndexByte(`\%&+?`, octet) < 0
}

// findRest continues find after the known characters. Text that can be read in several ways may have several
// ends.
func (s secret) findRest(text spelling, place, known int) int {
	var (
		here, next [16]int
		reading    [maxEncodings + 1]sign
		places     = append(here[:0], place)
		beyond     = next[:0]
	)
	for _, char := range s.chars[known:] {
		beyond = beyond[:0]
		for _, place := range places {
			for _, read := range text.all(reading[:0], place) {
				switch {
				case read.char == char, char == ' ' && read.char == '+':
					beyond = append(beyond, read.end)
				case s.lossy && char >= utf8.RuneSelf && isLost(read.char):
					beyond = text.appendLost(beyond, read)
				}
			}
		}
		if len(beyond) == 0 {
			return -1
		}
		if len(beyond) > 1 {
			slices.Sort(beyond)
			beyond = slices.Compact(beyond)
		}
		places, beyond = beyond, places
	}

	return places[len(places)-1]
}

// isLost reports whether a character stands for one that could not be decoded or encoded.
func isLost(char rune) bool { return char == utf8.RuneError || char == '?' }

// appendLost appends the places where the marks of one lost character may end.
func (s spelling) appendLost(ends []int, mark sign) []int {
	for range maxLost {
		if !isLost(mark.char) {
			break
		}
		ends = append(ends, mark.end)
		mark = s.at(mark.end, maxEncodings)
	}

	return ends
}

type secrets struct {
	// first holds the secrets by their first character. plain has the same lists by ASCII byte, for a faster
	// lookup.
	plain [utf8.RuneSelf][]secret
	first map[rune][]secret
	// beyond says that a secret begins with a character beyond ASCII. lossy holds the secrets whose first
	// character may have been lost.
	beyond bool
	lossy  []secret
}

// newSecrets returns the texts that are long enough not to match ordinary words.
func newSecrets(texts []string) *secrets {
	s := &secrets{first: make(map[rune][]secret)}
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return len(text) < minSecretLen })
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		one := newSecret(text)
		first := one.chars[0]
		s.first[first] = append(s.first[first], one)
		if first == ' ' {
			s.first['+'] = append(s.first['+'], one)
		}
		s.beyond = s.beyond || first >= utf8.RuneSelf
		if one.lossy && first >= utf8.RuneSelf {
			s.lossy = append(s.lossy, one)
		}
	}
	for octet := range s.plain {
		s.plain[octet] = s.first[rune(octet)]
	}

	return s
}

// replace replaces each secret in text, in any spelling, with mark.
func (s *secrets) replace(text, mark string) string {
	if len(s.first) == 0 {
		return text
	}

	var clean strings.Builder
	kept := 0
	for place := 0; place < len(text); {
		end, size := s.find(spelling(text), place)
		if end < 0 {
			place += size
			continue
		}
		clean.WriteString(text[kept:place])
		clean.WriteString(mark)
		place, kept = end, end
	}
	if kept == 0 {
		return text
	}
	clean.WriteString(text[kept:])

	return clean.String()
}

// find returns the end of the longest secret that begins at place, or -1 if none does. size is the length of
// the character at place.
func (s *secrets) find(text spelling, place int) (end, size int) {
	octet := text[place]
	switch {
	case isPlain(octet):
		return longest(s.plain[octet], text, place), 1
	case octet >= utf8.RuneSelf && !s.beyond:
		return -1, 1
	}

	end = -1
	var reading [maxEncodings + 1]sign
	for _, read := range text.all(reading[:0], place) {
		end = max(end, longest(s.first[read.char], text, place))
		if isLost(read.char) {
			end = max(end, longest(s.lossy, text, place))
		}
	}

	return end, text.plain(place).end - place
}

// longest returns the last end of the secrets in list that begin at place, or -1 if none does.
func longest(list []secret, text spelling, place int) int {
	end := -1
	for _, one := range list {
		end = max(end, one.find(text, place))
	}

	return end
}
