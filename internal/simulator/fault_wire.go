package simulator

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// wire is what faults do to an answer on its way out.
type wire struct {
	half      bool          // cut the connection in the middle
	drip      time.Duration // before each byte
	length    int64         // repeat the body until it is so long
	replace   map[string]any
	backwards bool
}

// bend changes an encoded answer.
func (f wire) bend(encoded []byte) []byte {
	if f.replace == nil && !f.backwards {
		return encoded
	}
	tree, err := decodeTree(encoded)
	if err != nil {
		return encoded
	}
	for path, value := range f.replace {
		tree = replaceAt(tree, strings.Split(path, "/"), value)
	}
	if f.backwards {
		tree = backwards(tree)
	}
	bent, err := encodeJSON(tree)
	if err != nil {
		return encoded
	}
	return bent
}

// replaceAt puts a value where a path leads, if it leads anywhere.
func replaceAt(tree any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch tree := tree.(type) {
	case map[string]any:
		for name, member := range tree {
			if path[0] == "*" || path[0] == name {
				tree[name] = replaceAt(member, path[1:], value)
			}
		}
	case []any:
		for i, element := range tree {
			if path[0] == "*" {
				tree[i] = replaceAt(element, path[1:], value)
			}
		}
	}
	return tree
}

// backwards turns round every list, and every object as it is written: whoever
// relies on an order will see another.
func backwards(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		turned := make(backwardsObject, len(tree))
		for name, member := range tree {
			turned[name] = backwards(member)
		}
		return turned
	case []any:
		turned := slices.Clone(tree)
		slices.Reverse(turned)
		for i, element := range turned {
			turned[i] = backwards(element)
		}
		return turned
	}
	return tree
}

type backwardsObject map[string]any

func (o backwardsObject) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	names := slices.Sorted(maps.Keys(o))
	slices.Reverse(names)
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		member, err := json.Marshal(o[name])
		if err != nil {
			return nil, err
		}
		out.Write(key)
		out.WriteByte(':')
		out.Write(member)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// deliver writes a body, or as much of it as the client takes.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, call *Call, out []byte, f wire) {
	flusher := http.NewResponseController(w)
	switch {
	case f.half:
		_, _ = w.Write(out[:len(out)/2])
		_ = flusher.Flush()
		panic(http.ErrAbortHandler)
	case f.drip > 0:
		_ = flusher.Flush()
		for i := range out {
			if !s.hold(r, f.drip) {
				return
			}
			_, _ = w.Write(out[i : i+1])
			_ = flusher.Flush()
		}
	case f.length > 0 && len(out) > 0:
		block := bytes.Repeat(out, 1+(64<<10)/len(out))
		for left := f.length; left > 0; {
			n, err := w.Write(block[:min(left, int64(len(block)))])
			left -= int64(n)
			s.mu.Lock()
			call.Sent = f.length - left
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	default:
		_, _ = w.Write(out)
	}
}

// resetConnection ends a connection so that the client's read fails at once, and
// not at an end.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
