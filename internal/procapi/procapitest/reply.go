package procapitest

import (
	"fmt"
	"io"
	"net/http"
)

// RequestID is the request id in every answer.
const RequestID = "req-1"

// Answer is any status and body.
func Answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Bkapi-Request-Id", RequestID)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Data is a success with this data.
func Data(body string) http.HandlerFunc {
	return Answer(http.StatusOK, `{"result":true,"code":0,"message":"success","data":`+body+`,"permission":null}`)
}

// Refusal is an answer that refuses a request.
func Refusal(code int, message, data string) http.HandlerFunc {
	return Answer(http.StatusOK, fmt.Sprintf(`{"result":false,"code":%d,"message":%q,"data":%s}`, code, message, data))
}

// Gone reads the request and never answers.
func Gone(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// Hang calls then, and does not answer before the client closes the connection.
func Hang(then func()) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		then()
		<-r.Context().Done()
	}
}

// After calls first, and then replies. If first ended the client's context, the client is gone by then.
func After(first func(), reply http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		first()
		reply(w, r)
	}
}
