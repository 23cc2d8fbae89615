package bkapi

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxEncodings is how many times a text may have been encoded. A request that is echoed whole is a text in the
// answer, which a page or another service may quote. UTF-8 that was read as Latin-1, or escaped byte by byte,
// counts as one encoding.
const maxEncodings = 4

// spelling is a text whose characters may be escaped, because servers escape what they quote. JSON, Python and
// shells use a backslash, URLs a percent sign, and HTML an ampersand.
type spelling string

// sign is one character of a spelling, and the place where it ends.
type sign struct {
	char rune
	end  int
}

// nothing is the character that is read at the end of the text.
const nothing rune = -1

// at returns the character at place after the given number of encodings is removed.
func (s spelling) at(place, encodings int) sign {
	read := s.plain(place)
	for inner := range encodings {
		read = s.decode(read, inner)
	}

	return read
}

// all appends every reading of the character at place. A text does not show how often it was encoded, and a
// secret may itself look like an escape.
func (s spelling) all(readings []sign, place int) []sign {
	read := s.plain(place)
	readings = append(readings, read)
	for inner := range maxEncodings {
		before := read
		if read = s.decode(read, inner); read != before {
			readings = append(readings, read)
		}
	}

	return readings
}

// plain returns the character at place without decoding it. A byte that is not UTF-8 is taken as Latin-1.
func (s spelling) plain(place int) sign {
	if place >= len(s) {
		return sign{nothing, place}
	}
	char, size := utf8.DecodeRuneInString(string(s[place:]))
	if char == utf8.RuneError && size == 1 {
		char = rune(s[place])
	}

	return sign{char, place + size}
}

// decode returns the character of the escape that first begins, or first if it begins none. The other
// characters of an escape may themselves be encoded.
func (s spelling) decode(first sign, inner int) sign {
	decoded, ok := first, false
	switch {
	case first.char == '\\':
		decoded, ok = s.backslash(first.end, inner)
	case first.char == '%':
		decoded, ok = s.percent(first.end, inner)
	case first.char == '&':
		decoded, ok = s.entity(first.end, inner)
	case first.char >= utf8.RuneSelf:
		decoded, ok = s.joined(first, inner)
	}
	if !ok {
		return first
	}

	return decoded
}

// backslash reads what follows a backslash: \", \/, \n, \x22, \u0022, \U00000022, \042.
func (s spelling) backslash(place, inner int) (sign, bool) {
	letter := s.at(place, inner)
	switch {
	case letter.char == 'x':
		return s.number(s.at(letter.end, inner), inner, 16, 2, 2)
	case letter.char == 'u':
		return s.number(s.at(letter.end, inner), inner, 16, 4, 4)
	case letter.char == 'U':
		return s.number(s.at(letter.end, inner), inner, 16, 8, 8)
	case letter.char >= '0' && letter.char <= '7':
		return s.number(letter, inner, 8, 1, 3)
	case letter.char == '"', letter.char == '\'', letter.char == '/', letter.char == '\\':
		return letter, true
	}
	if i := strings.IndexRune("abfnrtv", letter.char); i >= 0 {
		return sign{rune("\a\b\f\n\r\t\v"[i]), letter.end}, true
	}

	return sign{}, false
}

// percent reads what follows a percent sign: a byte (%22), or JavaScript's %u0022.
func (s spelling) percent(place, inner int) (sign, bool) {
	next := s.at(place, inner)
	if next.char == 'u' {
		return s.number(s.at(next.end, inner), inner, 16, 4, 4)
	}

	return s.number(next, inner, 16, 2, 2)
}

// maxEntityName is the length of the longest entity name that servers use.
const maxEntityName = 8

// entity reads what follows an ampersand: quot; #34; #034; #x22; #X22;.
func (s spelling) entity(place, inner int) (sign, bool) {
	next := s.at(place, inner)
	if next.char == '#' {
		base, digit := 10, s.at(next.end, inner)
		if digit.char == 'x' || digit.char == 'X' {
			base, digit = 16, s.at(digit.end, inner)
		}
		number, ok := s.number(digit, inner, base, 1, 8)
		if !ok {
			return sign{}, false
		}
		if semicolon := s.at(number.end, inner); semicolon.char == ';' {
			number.end = semicolon.end
		}

		return number, true
	}

	name := make([]rune, 0, maxEntityName)
	for next.char < utf8.RuneSelf && (unicode.IsLetter(next.char) || unicode.IsDigit(next.char)) && len(name) < maxEntityName {
		name = append(name, next.char)
		next = s.at(next.end, inner)
	}
	if next.char != ';' {
		return sign{}, false
	}
	named := html.UnescapeString("&" + string(name) + ";")
	char, size := utf8.DecodeRuneInString(named)

	return sign{char, next.end}, size == len(named)
}

// number reads the number of a character, from its first digit. It has between least and most digits.
func (s spelling) number(next sign, inner, base, least, most int) (sign, bool) {
	value, digits, end := 0, 0, next.end
	for digits < most {
		digit := strings.IndexRune("0123456789abcdef", unicode.ToLower(next.char))
		if digit < 0 || digit >= base {
			break
		}
		value, digits, end = value*base+digit, digits+1, next.end
		next = s.at(end, inner)
	}

	return sign{rune(value), end}, digits >= least && value <= unicode.MaxRune
}

// joined reads a character that was split into the halves of UTF-16 or into the bytes of UTF-8. Such bytes were
// escaped one by one, or read as Latin-1.
func (s spelling) joined(first sign, inner int) (sign, bool) {
	if first.char >= 0xD800 && first.char < 0xDC00 {
		second := s.at(first.end, inner)
		if second.char < 0xDC00 || second.char > 0xDFFF {
			return sign{}, false
		}

		return sign{(first.char-0xD800)<<10 | (second.char - 0xDC00) + 0x10000, second.end}, true
	}

	var bytes [utf8.UTFMax]byte
	for size, next := 0, first; size < len(bytes); next = s.at(next.end, inner) {
		octet, ok := octetOf(next.char)
		if !ok {
			return sign{}, false
		}
		bytes[size] = octet
		size++
		if char, width := utf8.DecodeRune(bytes[:size]); width > 1 {
			return sign{char, next.end}, true
		}
		if !couldBegin(bytes[:size]) {
			return sign{}, false
		}
	}

	return sign{}, false
}

// couldBegin reports whether bytes may be the beginning of a character in UTF-8.
func couldBegin(bytes []byte) bool {
	return bytes[0] >= 0xC2 && bytes[0] <= 0xF4 && !utf8.FullRune(bytes)
}

// windows1252 holds the characters that browsers and other programs read for the bytes from 0x80 to 0x9F in a
// text declared as Latin-1.
var windows1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// octetOf returns the byte that Latin-1, or Windows-1252 in its place, decodes to char.
func octetOf(char rune) (byte, bool) {
	if char >= 0 && char <= 0xFF {
		return byte(char), true
	}
	i := slices.Index(windows1252, char)

	return byte(0x80 + i), i >= 0
}
