package simulator

import "net/http"

// reply is an answer ready to be sent.
type reply struct {
	status  int
	header  map[string]string
	body    map[string]any
	text    string // in place of body
	code    int
	message string
	half    bool // cut the connection in the middle
}

func (s *Server) send(w http.ResponseWriter, call *Call, rep reply) {
	out := []byte(rep.text)
	if rep.text == "" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		encoded, err := encodeJSON(rep.body)
		if err != nil {
			encoded = []byte(`{"result":false,"code":-1,"message":"simulator: the answer is no JSON","data":null}`)
		}
		out = encoded
	}
	w.Header().Set("X-Bkapi-Request-Id", call.RequestID)
	for name, value := range rep.header {
		w.Header().Set(name, value)
	}
	s.complete(call, rep.status, rep.code, rep.message)
	w.WriteHeader(rep.status)
	if rep.half {
		_, _ = w.Write(out[:len(out)/2])
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(out)
}

// complete finishes the record of a call. Status 0 is for an answer that never
// left.
func (s *Server) complete(call *Call, status, code int, message string) {
	s.mu.Lock()
	call.Status, call.Code, call.Message, call.End = status, code, message, s.now()
	told := call.clone()
	s.mu.Unlock()
	if s.OnCall != nil {
		s.OnCall(told)
	}
}
