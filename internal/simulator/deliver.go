package simulator

import (
	"bytes"
	"net"
	"net/http"

	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// deliver writes a body as the fault says, until the client closes the connection.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request, call *record.Call, out []byte, f fault.Wire) {
	flusher := http.NewResponseController(w)
	switch {
	case f.Half:
		_, _ = w.Write(out[:len(out)/2])
		_ = flusher.Flush()
		panic(http.ErrAbortHandler)
	case f.Drip > 0:
		_ = flusher.Flush()
		for i := range out {
			if !s.hold(r, f.Drip) {
				return
			}
			_, _ = w.Write(out[i : i+1])
			_ = flusher.Flush()
		}
	case f.Length > 0 && len(out) > 0:
		block := bytes.Repeat(out, 1+(64<<10)/len(out))
		for left := f.Length; left > 0; {
			n, err := w.Write(block[:min(left, int64(len(block)))])
			left -= int64(n)
			s.record.Sent(call, f.Length-left)
			if err != nil {
				return
			}
		}
	default:
		_, _ = w.Write(out)
	}
}

// resetConnection resets a connection, so that the client's read fails with an error other than io.EOF.
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
