package histories

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// scissors stand before the platform and end an apply at one of its calls. The client
// is gone before the answer is there, so it is the same in every replay.
type scissors struct {
	mu   sync.Mutex
	left int // calls until the cut, 0 for none
	late bool
	end  func()
}

func (s *scissors) arm(call int, late bool, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.late, s.end = call, late, end
}

// due counts a call.
func (s *scissors) due() (end func(), late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return nil, false
	}
	if s.left--; s.left > 0 {
		return nil, false
	}
	return s.end, s.late
}

func (s *scissors) before(platform http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, late := s.due()
		if end == nil {
			platform.ServeHTTP(w, r)
			return
		}
		if late {
			platform.ServeHTTP(httptest.NewRecorder(), r)
		} else {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		end()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second): // the end of its context does not matter
		}
		panic(http.ErrAbortHandler)
	})
}
