package simulator

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/control"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/face"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/page"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
	"github.com/blueking/terraform-provider-bk/internal/simulator/scenario"
)

// controlPrefix is the path of the control endpoint, which BlueKing does not use.
const controlPrefix = "/_sim/"

// Server is a simulated BlueKing on one machine. Its zero value is ready to use; the exported fields must
// not change once it serves.
type Server struct {
	// AppCode and AppSecret are the only valid application; if empty, DefaultAppCode and DefaultAppSecret
	// are. If the secret is not the default one, the control endpoint requires both, as user and password.
	AppCode   string
	AppSecret string
	// Username, Token and AccessToken are the only valid values of bk_username, bk_token and
	// access_token; if empty, any non-empty value is valid.
	Username    string
	Token       string
	AccessToken string
	// TenantID is the only X-Bk-Tenant-Id that the gateway accepts; if empty, it accepts any and none. The
	// other faces have no tenants.
	TenantID string
	// UnverifiedStatus400 makes the gateway refuse credentials with 400 and CodeInvalidArgs, as its open
	// source edition does today. By default it returns 401 and the codes that the same source reserves for
	// this.
	UnverifiedStatus400 bool
	// AdmitAgents declares every agent id.
	AdmitAgents bool
	// EntryPerName keeps a registration for each name in use of a machine with two names (see
	// [Server.AddAgent]), until upgrade_to_agent_id merges them. The process and its hosting still belong
	// to the machine: unhosting by either name unhosts it under both.
	EntryPerName bool

	// MaxHostsPerRequest refuses requests with more hosts, if non-zero.
	MaxHostsPerRequest int
	// MaxCalls and MaxTasks drop the oldest calls and tasks beyond that number, if non-zero. To clients, a
	// dropped task looks like an expired one.
	MaxCalls int
	MaxTasks int

	// RegisterHosts makes register_proc_info host the process as well. The documents do not say whether
	// it does.
	RegisterHosts bool
	// UpdateRefuses makes update_proc_info refuse an unregistered process with
	// CodeNotRegistered, instead of registering it.
	UpdateRefuses bool
	// SuppliersApart makes unregister_proc_info find only what was registered under the supplier id in the
	// request. What was registered without one, at the gateway or from a console, is found under any.
	SuppliersApart bool
	// HostingStarts makes supervision start a process that was hosted while it was stopped. By default an
	// agent restarts only processes that died while hosted.
	HostingStarts bool
	// StartReplaces makes a successful start replace the spec and the labels of a process that is
	// registered or hosted already. By default a start keeps them, and stores its own only if there are
	// none.
	StartReplaces bool
	// RestartKeepsHosting makes a restart leave the hosting as it was. By default it hosts, as a start
	// does: clients install processes with op 7 alone.
	RestartKeepsHosting bool
	// ReregisteringKeepsTime, StartingKeepsTime and HostingKeepsTime make the agent keep the registration
	// time of a process that it knows already when the process is registered again (at the gateway by
	// op 3), started or restarted, or hosted. By default each of these renews the time. The documents do
	// not mention it.
	ReregisteringKeepsTime, StartingKeepsTime, HostingKeepsTime bool
	// AgentsWithoutTimes makes agents leave the times of registration and start out of a query's result, as
	// older ones may.
	AgentsWithoutTimes bool
	// HostingSilent leaves the content of ops 3 and 4 at the gateway empty, as at the ESB.
	HostingSilent bool
	// HostingOnce makes op 3 at the gateway refuse a process that has a row with
	// CodeAlreadyRegistered, instead of giving it the new spec and labels.
	HostingOnce bool
	// RowsWithoutHost omits host from the cached status at the gateway. Clients disagree on whether rows
	// have it; they always have bk_agent_id. By default rows have host, with an empty ip if no address is
	// known.
	RowsWithoutHost bool
	// RowsWithoutAgentID omits bk_agent_id. If both are set, a row does not name its host. See [Fault.Rows]
	// for temporary changes.
	RowsWithoutAgentID bool
	// RowLabels are labels that the platform adds to every row of the cached status, in addition to those
	// of the registration. See [Server.SetRowLabels].
	RowLabels map[string]string
	// ManageProcBug makes JOB's manage_proc pass its op types 1 and 2 unchanged to GSE, where they mean
	// stop and query. The public code of JOB 3.4 to 3.6 does so.
	ManageProcBug bool
	// JobRemoved removes the process APIs from the JOB faces, as JOB 3.7 did. The status 404 is an
	// invention.
	JobRemoved bool
	// ProcPath is the file in which agents keep what they host, DefaultProcPath if empty. See
	// [Server.SetProcFile] for a single host.
	ProcPath string
	// ScreenPage is the largest number of bytes of a script's screen that the gateway returns at once, if
	// non-zero, even if the request's limit is larger.
	ScreenPage int
	// ExpiredEmpty makes the result of an unknown task an empty success instead of CodeTaskQueued forever.
	// Clients report either.
	ExpiredEmpty bool
	// OldCMDB gives CMDB's responses behind the gateway bk_error_code and bk_error_msg, as from an API
	// server that does not support gateways yet.
	OldCMDB bool
	// Topology is the content of CMDB, if non-nil. Its hosts are declared here too: see [Server.CMDB] for
	// changes.
	Topology *Topology
	// LagCalls is how many reads of the cached status of a process still return its old row after each
	// change. -1 always shows the state before the last change. See [Server.SetLag].
	LagCalls int
	// Lag is how long the cached status shows the old row after a change, if non-zero. LagCalls is then
	// ignored.
	Lag time.Duration

	// Local makes 127.0.0.0/8 local hosts, in every cloud area, without declaring them. Their
	// commands really run, on this machine, as this user, whatever identity.user says.
	Local bool
	// Root gives each local host its own file system, if non-empty. A path P in the spec of host
	// 127.0.0.N means <Root>/127.0.0.N/P. setup_path and the directory of pid_path are created if they do
	// not exist. Commands run in setup_path, with BK_HOST_IP set to the host's address and BK_HOST_ROOT to
	// its tree. Absolute paths inside a command are not changed.
	Root string
	// Second is the length of one second of a monitor policy on local hosts, if non-zero. Tests make it
	// short.
	Second time.Duration
	// Supervise is the interval of supervision after Start, if non-zero.
	// Otherwise only Tick supervises.
	Supervise time.Duration
	// StopProcesses makes Close stop what local hosts still run.
	StopProcesses bool

	// Seed, if non-zero, makes random faults repeatable in runs with the same requests in the same order.
	Seed uint64

	// Scenario, if non-nil, runs from the first request or from Start.
	Scenario *Scenario

	// StateFile is loaded by Start and written after changes, if non-empty.
	StateFile string
	// OnCall, if non-nil, is called with each call before its response is sent. It must not send a request.
	OnCall func(record.Call)
	// ErrorLog, if non-nil, is where errors are written that have no caller.
	ErrorLog io.Writer
	// Now is the clock, if non-nil.
	Now func() time.Time

	once   sync.Once
	ready  sync.Once
	core   *core.GSE
	faults *fault.List
	record *record.Book
	cmdb   *cmdb.CMDB
	// started is when the settings took effect.
	started time.Time
	play    *scenario.Run
	faces   face.Settings
}

// init creates what is needed before the settings take effect.
func (s *Server) init() {
	s.once.Do(func() {
		s.core = core.New()
		s.faults = fault.NewList(s.Seed, s.core)
		s.record = &record.Book{}
	})
}

// begin passes the settings on. From then on they must not change.
func (s *Server) begin() {
	s.init()
	s.ready.Do(func() {
		s.started = s.now()
		s.openCMDB()
		s.core.Configure(core.Settings{
			AdmitAgents: s.AdmitAgents, EntryPerName: s.EntryPerName, RegisterHosts: s.RegisterHosts, UpdateRefuses: s.UpdateRefuses, SuppliersApart: s.SuppliersApart,
			HostingStarts: s.HostingStarts, StartReplaces: s.StartReplaces, HostingOnce: s.HostingOnce, HostingSilent: s.HostingSilent, RestartKeepsHosting: s.RestartKeepsHosting,
			ReregisteringKeepsTime: s.ReregisteringKeepsTime, StartingKeepsTime: s.StartingKeepsTime, HostingKeepsTime: s.HostingKeepsTime,
			ExpiredEmpty: s.ExpiredEmpty, AgentsWithoutTimes: s.AgentsWithoutTimes, ProcPath: s.ProcPath, LagCalls: s.LagCalls, Lag: s.Lag, RowLabels: s.RowLabels,
			Local: s.Local, Root: s.Root, Second: s.Second, Supervise: s.Supervise, StopProcesses: s.StopProcesses,
			StateFile: s.StateFile, MaxTasks: s.MaxTasks, MaxExecutions: s.MaxCalls,
			ErrorLog: s.ErrorLog, Now: s.Now, Faults: s.faults, CMDB: s.cmdb,
		})
		s.faces = face.Settings{
			Credentials: face.Credentials{
				AppCode: s.AppCode, AppSecret: s.AppSecret,
				Username: s.Username, Token: s.Token, AccessToken: s.AccessToken,
			},
			TenantID: s.TenantID, UnverifiedStatus400: s.UnverifiedStatus400, MaxHostsPerRequest: s.MaxHostsPerRequest,
			RowsWithoutHost: s.RowsWithoutHost, RowsWithoutAgentID: s.RowsWithoutAgentID, ManageProcBug: s.ManageProcBug, JobRemoved: s.JobRemoved,
			OldCMDB: s.OldCMDB, ScreenPage: s.ScreenPage,
		}
		if s.Scenario != nil {
			s.play = scenario.NewRun(s.Scenario, s.endpoint(), s.ErrorLog)
		}
	})
}

// ServeHTTP answers the faces, the page and the control endpoint, on this machine only.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.begin()
	if why := stranger(r); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		page.Serve(w, r)
		return
	}
	if !isControl(r) {
		f, api := s.faces.Of(r.URL.Path)
		s.exchange(w, r, f, api)
		return
	}
	if !maySwitch(r, s.faces.Credentials) {
		if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Mode") != "cors" { // the simulator's page has a prompt of its own
			w.Header().Set("WWW-Authenticate", `Basic realm="bk-simulator"`)
		}
		http.Error(w, "the simulator has a secret of its own: curl -u <app code>:<app secret>", http.StatusUnauthorized)
		return
	}
	s.endpoint().ServeHTTP(w, r)
}

func (s *Server) endpoint() control.Endpoint {
	return control.Endpoint{Core: s.core, CMDB: s.cmdb, Faults: s.faults, Record: s.record, Started: s.started, Now: s.now, Scenario: s.play}
}

// Start loads the state file and begins supervision and saving, if StateFile and Supervise are set. Close
// ends what it began. A server that is only an http.Handler in a test needs no Start.
func (s *Server) Start() error {
	s.begin()
	return s.core.Start()
}

// Close ends supervision, waits for running commands of local hosts, and writes the state file. It stops the
// processes themselves only if StopProcesses is set.
func (s *Server) Close() error {
	s.begin()
	s.play.Close()
	return s.core.Close()
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}
