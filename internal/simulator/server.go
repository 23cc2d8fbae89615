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

// controlPrefix is the path of the control endpoint, which no BlueKing has.
const controlPrefix = "/_sim/"

// Server is BlueKing on one machine. Its zero value is ready to use; the
// exported fields must not change once it serves.
type Server struct {
	// AppCode and AppSecret are the only application let in, if non-empty;
	// otherwise DefaultAppCode and DefaultAppSecret are. The control endpoint asks
	// for them, as user and password, where the secret is not the default one.
	AppCode   string
	AppSecret string
	// Username, Token and AccessToken are the only values let in as
	// bk_username, bk_token and access_token, if non-empty; otherwise any
	// non-empty value is.
	Username    string
	Token       string
	AccessToken string
	// TenantID is the only X-Bk-Tenant-Id that the gateway lets in, if
	// non-empty; otherwise any is, and none. The other faces know no tenants.
	TenantID string
	// UnverifiedStatus400 makes the gateway answer refused credentials as its
	// open source edition does today, with 400 and CodeInvalidArgs, in place of
	// the 401 and the codes that the same source reserves for them.
	UnverifiedStatus400 bool
	// AdmitAgents declares every agent id.
	AdmitAgents bool
	// EntryPerName keeps, of a machine with two names (see [Server.AddAgent]), a
	// registration for each name that was used, until upgrade_to_agent_id makes one of
	// them. The process and its hosting are the machine's all the same: whoever ends
	// the hosting, by either name, ends it for both.
	EntryPerName bool

	// MaxHostsPerRequest refuses requests with more hosts, if non-zero.
	MaxHostsPerRequest int
	// MaxCalls and MaxTasks forget the oldest calls and tasks beyond so many,
	// if non-zero. A forgotten task answers like an expired one.
	MaxCalls int
	MaxTasks int

	// RegisterHosts makes register_proc_info host the process as well. The
	// documents leave open whether it does.
	RegisterHosts bool
	// UpdateRefuses makes update_proc_info refuse an unregistered process with
	// CodeNotRegistered, instead of registering it.
	UpdateRefuses bool
	// SuppliersApart makes unregister_proc_info find only what was registered under the
	// supplier id that it sends. What was registered without one, at the gateway or by
	// somebody at a console, is found under any.
	SuppliersApart bool
	// HostingStarts makes supervision start a process that was hosted while it
	// was stopped. By default an agent revives only what it saw die.
	HostingStarts bool
	// StartReplaces makes a successful start replace the spec and the labels of
	// a process that is registered or hosted already. By default a start keeps
	// them and stores its own only where there were none.
	StartReplaces bool
	// RestartKeepsHosting makes a restart leave the hosting as it was. By default it hosts,
	// as a start does: clients install processes with op 7 alone.
	RestartKeepsHosting bool
	// ReregisteringKeepsTime, StartingKeepsTime and HostingKeepsTime make the agent keep the
	// registration time of a process that is listed already, when it is registered again (at
	// the gateway by op 3), started or restarted, or hosted. By default each of them renews it.
	// No document says either.
	ReregisteringKeepsTime, StartingKeepsTime, HostingKeepsTime bool
	// AgentsWithoutTimes makes agents answer a query without the times of registration and
	// start, as older ones may.
	AgentsWithoutTimes bool
	// HostingSilent leaves the content of ops 3 and 4 at the gateway empty, as it always is
	// at the ESB.
	HostingSilent bool
	// HostingOnce makes op 3 at the gateway refuse a process that has a row with
	// CodeAlreadyRegistered, instead of giving it the new spec and labels.
	HostingOnce bool
	// RowsWithoutHost leaves host out of the cached status at the gateway.
	// Clients disagree on whether it is there; bk_agent_id is, always. By default it is,
	// with an empty ip where no address is known.
	RowsWithoutHost bool
	// RowsWithoutAgentID leaves bk_agent_id out of it. With both, a row does not say
	// whose it is. See [Fault.Rows] for what comes and goes.
	RowsWithoutAgentID bool
	// RowLabels are labels that the platform adds by itself to every row of the cached
	// status, beside those that were declared. See [Server.SetRowLabels].
	RowLabels map[string]string
	// ManageProcBug makes JOB's manage_proc send its op types 1 and 2 to GSE as
	// they are, where they mean stop and query, as the public code of JOB 3.4 to
	// 3.6 does.
	ManageProcBug bool
	// JobRemoved takes the process APIs away from the JOB faces, as JOB 3.7 did.
	// That the caller hears of it as a 404 is an invention.
	JobRemoved bool
	// ProcPath is where agents keep what they host, DefaultProcPath if empty. See
	// [Server.SetProcFile] for a single host.
	ProcPath string
	// ScreenPage is how many bytes of a screen the gateway's script API answers at most, if
	// non-zero, whatever limit says.
	ScreenPage int
	// ExpiredEmpty makes the result of an unknown task an empty success instead
	// of CodeTaskQueued for ever. Clients report either.
	ExpiredEmpty bool
	// OldCMDB makes CMDB's answers behind the gateway say bk_error_code and bk_error_msg,
	// as its API server does that knows no gateways yet.
	OldCMDB bool
	// Topology is what CMDB knows, if non-nil. Its hosts are declared here too: see
	// [Server.CMDB] for changes.
	Topology *Topology
	// LagCalls is how many cached status answers about a process still show its old row after each
	// change. -1 shows for ever what was true before the last change. See [Server.SetLag].
	LagCalls int
	// Lag is how long the cached status goes on to show the row from before a change, if
	// non-zero; LagCalls does not count then.
	Lag time.Duration

	// Local makes 127.0.0.0/8 local hosts, in every cloud area, without declaring them. Their
	// commands really run, on this machine, as this user, whatever identity.user says.
	Local bool
	// Root gives each local host its own file system, if non-empty. A path P in the spec of host
	// 127.0.0.N means <Root>/127.0.0.N/P. setup_path and the directory of pid_path are made if
	// absent. Commands are run in setup_path, with BK_HOST_IP set to the host's address and
	// BK_HOST_ROOT to its tree. Absolute paths inside a command are left alone.
	Root string
	// Second is how long one second of a monitor policy takes on local hosts,
	// if non-zero. Tests make it short.
	Second time.Duration
	// Supervise is the interval of supervision after Start, if non-zero.
	// Otherwise only Tick supervises.
	Supervise time.Duration
	// StopProcesses makes Close stop what local hosts still run.
	StopProcesses bool

	// Seed makes what faults leave to chance fall the same way in every run that
	// sends the same requests in the same order, if non-zero.
	Seed uint64

	// Scenario is what goes wrong by itself, from the first request or from Start on, if
	// non-nil.
	Scenario *Scenario

	// StateFile is loaded by Start and written after changes, if non-empty.
	StateFile string
	// OnCall is given each call before its answer is sent, if non-nil. It
	// must not call the server.
	OnCall func(record.Call)
	// ErrorLog is where failures without a caller go, if non-nil.
	ErrorLog io.Writer
	// Now is the clock, if non-nil.
	Now func() time.Time

	once   sync.Once
	ready  sync.Once
	core   *core.GSE
	faults *fault.List
	record *record.Book
	cmdb   *cmdb.CMDB
	// started is when the settings were handed out.
	started time.Time
	play    *scenario.Run
	faces   face.Settings
}

// init makes what has to be there before the settings count.
func (s *Server) init() {
	s.once.Do(func() {
		s.core = core.New()
		s.faults = fault.NewList(s.Seed, s.core)
		s.record = &record.Book{}
	})
}

// begin hands the settings to those whom they concern: they must not change any more.
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
		if r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Mode") != "cors" { // the page asks by itself
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

// Start loads the state file and begins supervision and saving, as far as
// StateFile and Supervise ask for them. Close ends what it began. A server that
// is only an http.Handler in a test needs no Start.
func (s *Server) Start() error {
	s.begin()
	return s.core.Start()
}

// Close ends supervision, waits for the commands of local hosts that are still
// running, and writes the state file. It stops the processes themselves only if
// StopProcesses asks for it.
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
