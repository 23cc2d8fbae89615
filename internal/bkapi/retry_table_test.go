package bkapi_test

import (
	"bufio"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// retryRow is a row of the table in the package documentation, with what causes it. The reasons are in
// that table.
type retryRow struct {
	what       string
	repeatable string
	otherwise  string

	steps   []http.HandlerFunc // each of them, repeated, is an instance of the row
	prepare func(t *testing.T, cfg *bkapi.Config, s *server)
	// cold: the client has made no call before. In all other rows the platform has answered once, and
	// leaves happens then.
	cold    bool
	leaves  func(s *server)
	kind    bkapi.Kind
	unknown bool // IsOutcomeUnknown for an operation
	unsent  bool // the server certainly has not received it
}

func retryTable() []retryRow {
	html := replyAs("text/html", http.StatusOK, "<html><title>Login</title></html>")
	return []retryRow{
		{
			what: "no connection, none before", repeatable: "no", otherwise: "no", kind: bkapi.KindConnect, unsent: true, cold: true,
			steps: []http.HandlerFunc{ok(`{}`)},
			prepare: func(t *testing.T, cfg *bkapi.Config, _ *server) {
				t.Helper()
				cfg.Endpoint = procapitest.ClosedEndpoint(t)
			},
		},
		{
			what: "no connection", repeatable: "yes", otherwise: "yes", kind: bkapi.KindConnect, unsent: true,
			steps: []http.HandlerFunc{ok(`{}`)}, leaves: func(s *server) { s.Close() },
		},
		{
			what: "not the platform", repeatable: "no", otherwise: "no", cold: true,
			steps: []http.HandlerFunc{
				html, reply(http.StatusOK, `{"status":"up","version":"1.2"}`), reply(http.StatusOK, `{"data":[1]}`), reply(http.StatusOK, `[]`),
				reply(http.StatusOK, "OK"), replyAs("text/html", http.StatusNotFound, "<html>404</html>"), reply(http.StatusMethodNotAllowed, `{"detail":"no"}`),
				redirectTo("/login", http.StatusFound), raw("SSH-2.0-OpenSSH_9.9\r\n"),
			},
		},
		{
			what: "server not trusted", repeatable: "no", otherwise: "no", kind: bkapi.KindTLS, unsent: true, cold: true,
			steps: []http.HandlerFunc{ok(`{}`)},
			prepare: func(t *testing.T, cfg *bkapi.Config, _ *server) {
				t.Helper()
				s := newUnstartedServer(t, ok(`{}`))
				s.StartTLS()
				cfg.Endpoint = s.URL
			},
		},
		{
			what: "429", repeatable: "yes", otherwise: "yes", kind: bkapi.KindStatus,
			steps: []http.HandlerFunc{reply(http.StatusTooManyRequests, `{"code":1642901,"message":"rate limit"}`)},
		},
		{
			what: "ESB code 1306429", repeatable: "yes", otherwise: "yes", kind: bkapi.KindRefused,
			steps: []http.HandlerFunc{ok(`null,"code":1306429,"result":false`)},
		},
		{
			what: "408 500 502 503 504", repeatable: "yes", otherwise: "no", kind: bkapi.KindStatus, unknown: true,
			steps: []http.HandlerFunc{
				reply(http.StatusInternalServerError, ""),
				replyAs("text/html", http.StatusBadGateway, "<html>502</html>"),
				reply(http.StatusServiceUnavailable, `{"code":1,"message":"down"}`),
				reply(http.StatusGatewayTimeout, ""),
			},
		},
		{
			what: "ESB code 1306201 1306208", repeatable: "yes", otherwise: "no", kind: bkapi.KindRefused, unknown: true,
			steps: []http.HandlerFunc{
				ok(`null,"code":1306201,"result":false`),
				ok(`null,"code":1306208,"result":false`),
			},
		},
		{
			what: "other status", repeatable: "no", otherwise: "no", kind: bkapi.KindStatus,
			steps: []http.HandlerFunc{
				reply(http.StatusBadRequest, `{"code":1640001,"message":"bad"}`),
				reply(http.StatusUnauthorized, `{"code":1640101,"message":"who?"}`),
				reply(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`),
				replyAs("text/html", http.StatusNotFound, "<html>404</html>"),
				reply(http.StatusConflict, ""),
			},
		},
		{
			what: "redirect", repeatable: "no", otherwise: "no", kind: bkapi.KindRedirect,
			steps: []http.HandlerFunc{
				redirectTo("/login", http.StatusFound),
				redirectTo("https://login.example.com/", http.StatusTemporaryRedirect),
			},
		},
		{
			what: "answer lost", repeatable: "yes", otherwise: "no", kind: bkapi.KindLost, unknown: true,
			steps: []http.HandlerFunc{reset, raw(""), raw("not HTTP at all\r\n\r\n")},
		},
		{
			what: "no answer in time", repeatable: "yes", otherwise: "no", kind: bkapi.KindLost, unknown: true,
			steps:   []http.HandlerFunc{hang, headersThenHang},
			prepare: func(_ *testing.T, cfg *bkapi.Config, _ *server) { cfg.RequestTimeout = 250 * time.Millisecond },
		},
		{
			what: "half an answer", repeatable: "yes", otherwise: "no", kind: bkapi.KindLost, unknown: true,
			steps: []http.HandlerFunc{halfAnswer},
		},
		{
			what: "not an envelope", repeatable: "once", otherwise: "no", kind: bkapi.KindFormat, unknown: true,
			steps: []http.HandlerFunc{html, reply(http.StatusOK, ""), reply(http.StatusOK, `{"result":tr`), ok(`"text"`)},
		},
		{
			what: "envelope says no", repeatable: "no", otherwise: "no", kind: bkapi.KindRefused,
			steps: []http.HandlerFunc{reply(http.StatusOK, `{"result":false,"code":1000115,"message":"queued","data":null}`)},
		},
	}
}

// TestDoc_retryTable checks that the documentation and the tests have the same rows.
func TestDoc_retryTable(t *testing.T) {
	t.Parallel()
	doc, err := os.Open("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = doc.Close() }()

	columns := regexp.MustCompile(` {2,}`)
	var documented [][]string
	for lines := bufio.NewScanner(doc); lines.Scan(); {
		row, isRow := strings.CutPrefix(lines.Text(), "//\t")
		if cells := columns.Split(row, -1); isRow && len(cells) == 4 && cells[0] != "What happened" {
			documented = append(documented, cells[:3])
		}
	}

	var tested [][]string
	for _, row := range retryTable() {
		tested = append(tested, []string{row.what, row.repeatable, row.otherwise})
	}
	tested = append(tested,
		[]string{"context ended", "no", "no"},            // TestClient_retryStopsWhenContextEnds
		[]string{"deadline before the wait", "no", "no"}, // TestClient_retryKeepsErrorWhenDeadlineIsBeforeTheWait
	)

	if diff := cmp.Diff(documented, tested); diff != "" {
		t.Errorf("documented (-) and tested (+) rows differ: %s", diff)
	}
}
