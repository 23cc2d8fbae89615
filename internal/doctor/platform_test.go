package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/doctor"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	address   = "0:10.0.0.9"
	agentID   = "0200000007525400f355781710390005465c"
	namespace = "doctor_test"
)

// world is a simulator with one machine that has two names, and the doctor's clients for it.
type world struct {
	*testing.T
	sim      *simulator.Server
	clock    *providertest.Clock
	platform *doctor.Platform
	// front, if non-nil, answers in place of the simulator when it returns true.
	front func(http.ResponseWriter, *http.Request) bool
}

// newWorld serves a simulator behind a gateway. Only pauses take time on its clock, and with them the
// simulator supervises.
func newWorld(t *testing.T, gateway bkapi.Gateway, sim *simulator.Server) *world {
	t.Helper()
	w := &world{T: t, sim: sim, clock: &providertest.Clock{OnPause: func(int) { sim.Tick() }}}
	sim.Now = w.clock.Now
	sim.AddAgent(agentID, address)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.front == nil || !w.front(rw, r) {
			sim.ServeHTTP(rw, r)
		}
	}))
	config := bkapi.Config{
		Endpoint: server.URL, Gateway: gateway, AppCode: simulator.DefaultAppCode, AppSecret: simulator.DefaultAppSecret, Username: "admin",
		MaxRetries: 2, RetryWaitMax: time.Millisecond,
	}
	job, cmdb := config, config
	job.Gateway = bkapi.ESB
	if gateway == bkapi.APIGW {
		config.Endpoint += "/api/bk-gse/prod"
		cmdb.Endpoint += "/api/bk-cmdb/prod"
	}
	api, err := bkapi.New(config)
	simtest.Must(t, err)
	backoff := poll.Backoff{First: time.Millisecond, Max: time.Millisecond}
	client := gse.NewClient(api, gateway, procapi.Options{MaxHosts: 10, Backoff: backoff})
	w.platform, err = doctor.Connect(&platform.Platform{Gateway: gateway, GSE: client, Clock: w.clock, Backoff: backoff}, doctor.Configs{GSE: config, JOB: job, CMDB: cmdb, JOBAPI: "jobv3"})
	simtest.Must(t, err)
	t.Cleanup(func() {
		w.platform.Close()
		api.Close()
		server.Close()
		simtest.Must(t, sim.Close())
	})
	return w
}

func host(t *testing.T, text string) fleet.Host {
	t.Helper()
	h, err := fleet.ParseHost(text, 0)
	simtest.Must(t, err)
	return h
}

// trial is the doctor's input. At the gateway, hosts are named by agent id.
func (w *world) trial() doctor.Trial {
	h := address
	if w.platform.Gateway == bkapi.APIGW {
		h = agentID
	}
	return doctor.Trial{Host: host(w.T, h), Namespace: namespace, User: "root", Watch: 10 * time.Second, Patience: 10 * time.Minute}
}

// expectNothing fails the test if the doctor has left anything on the machine.
func (w *world) expectNothing() {
	w.Helper()
	for _, p := range w.sim.Processes() {
		w.Errorf("left: %s:%s on %s, registered %t, hosted %t, running %t", p.Namespace, p.Name, p.Host, p.Registered, p.Hosted, p.Running)
	}
}
