package simulator

import (
	"net/http"

	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// reply is a response ready to be sent.
type reply struct {
	status  int
	header  map[string]string
	body    map[string]any
	text    string // in place of body
	code    int
	message string
	wire    fault.Wire
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, call *record.Call, rep reply) {
	out := []byte(rep.text)
	if rep.text == "" {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		encoded, err := jsontree.Encode(rep.body)
		if err != nil {
			encoded = []byte(`{"result":false,"code":-1,"message":"simulator: the answer is no JSON","data":null}`)
		}
		out = rep.wire.Bend(encoded)
	}
	w.Header().Set("X-Bkapi-Request-Id", call.RequestID)
	for name, value := range rep.header {
		w.Header().Set(name, value)
	}
	s.record.Answered(call, out)
	s.complete(call, rep.status, rep.code, rep.message)
	w.WriteHeader(rep.status)
	s.deliver(w, r, call, out, rep.wire)
}
