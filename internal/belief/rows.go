package belief

// Sources of the rows.
var (
	documents    = Words{"API documents", "API 文档"}
	clients      = Words{"other clients", "其他客户端的代码"}
	oneClient    = Words{"one client", "个别客户端的代码"}
	server       = Words{"the server's code", "服务端的公开代码"}
	undocumented = Words{"not documented", "没有资料说明"}
)

// Files that depend on several rows.
const (
	codeRegister = "internal/gse/registration.go"
	codeESB      = "internal/gse/esb.go"
	codeHosting  = "internal/gse/hosting.go"
	codeOperate  = "internal/gse/operate.go"
	codeRows     = "internal/gse/status.go"
	codeNames    = "internal/gse/names.go"
	codeVerdicts = "internal/procapi/call.go"
	codeRules    = "internal/ownership/rules.go"
	codeObserve  = "internal/hostedprocess/observe.go"
	codeSchema   = "internal/hostedprocess/schema.go"
)

var gseFaces = []Face{ESB, APIG}

// rows are in the order of the guide. The first are the simulator's switches.
var rows = []Belief{
	{
		ID: "register-hosts", Faces: []Face{ESB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: documents, Sure: Medium,
		Holds: Words{"Registering does not host the process.", "注册不会托管进程。"},
		Otherwise: Words{
			"The agent also revives processes with `ensure = \"registered\"`.",
			"Agent 也会拉起 `ensure = \"registered\"` 的进程。",
		},
		Code: []string{codeESB, codeSchema},
	},
	{
		ID: "update-refuses", Faces: []Face{ESB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: oneClient, Sure: Medium,
		Holds: Words{"Updating registers a process that is not registered.", "更新会注册尚未注册的进程。"},
		Otherwise: Words{
			"An update takes a second call on a host that another tool unregistered.",
			"他人已注销（取消注册）的主机上，更新需要第二次调用。",
		},
		Code: []string{codeESB},
	},
	{
		ID: "suppliers-apart", Faces: []Face{ESB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: undocumented, Sure: Low,
		Holds: Words{"Unregistering ignores the supplier ID.", "注销忽略开发商 ID。"},
		Otherwise: Words{
			"Only the supplier ID that registered can unregister. Set `bk_supplier_id` before the first apply, and import with it.",
			"只有注册时的开发商 ID 才能注销。请在首次 apply 之前设置 `bk_supplier_id`，import 时也要给出。",
		},
		Code: []string{codeRegister, "internal/hostedprocess/ledger.go"},
	},
	{
		ID: "hosting-starts", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: documents, Sure: Medium,
		Holds: Words{"Hosting leaves a stopped process stopped.", "托管后，已停止的进程保持停止。"},
		Otherwise: Words{
			"An apply may start processes. Adopt only what may run, or use `ensure = \"registered\"` (ESB).",
			"apply 可能会启动进程。只接管可以运行的进程，或使用 `ensure = \"registered\"`（ESB）。",
		},
		Code: []string{codeHosting, codeSchema},
	},
	{
		ID: "hosting-once", Faces: []Face{APIG}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: clients, Sure: Medium,
		Holds: Words{"Hosting again replaces the registration.", "再次托管会覆盖原有注册。"},
		Otherwise: Words{
			"An update unhosts first, so for a moment the agent does not revive the process.",
			"更新时先取消托管再托管，其间进程若退出不会被拉起。",
		},
		Code: []string{codeHosting},
	},
	{
		ID: "hosting-silent", Faces: []Face{APIG}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: oneClient, Sure: Medium,
		Holds: Words{"Hosting answers with a content.", "托管的应答带有内容（content）。"},
		Otherwise: Words{
			"Nothing: the provider reads no content of it.",
			"无影响：Provider 不读取该内容。",
		},
		Code: []string{codeHosting},
	},
	{
		ID: "start-replaces", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: undocumented, Sure: Low,
		Holds: Words{"A start keeps the registered spec and labels.", "启动保留已注册的 spec 和标签。"},
		Otherwise: Words{
			"A start through the ESB may remove limits. The next plan shows it and registers again. Keep `spec_fingerprint_label` set.",
			"经 ESB 启动可能会清除资源限额；下一次 plan 会发现并重新注册。请保留 `spec_fingerprint_label`。",
		},
		Code: []string{codeOperate, "internal/hostedprocess/operate.go"},
	},
	{
		ID: "restart-keeps-hosting", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: clients, Sure: Medium,
		Holds: Words{"A restart hosts the process.", "重启会托管进程。"},
		Otherwise: Words{
			"A process that was unhosted stays so after a restart; a plan shows `not_hosted`.",
			"被取消托管的进程重启后仍未托管；plan 会显示 `not_hosted`。",
		},
		Code: []string{codeOperate, "internal/fleet/operate.go"},
	},
	{
		ID: "reregistering-keeps-time", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: undocumented, Sure: Low,
		Holds: Words{"Registering again renews the agent's registration time.", "重新注册会更新 Agent 的注册时间。"},
		Otherwise: Words{
			"Only the cached status shows who registered last, so a registration by another tool is noticed minutes later.",
			"只有缓存状态能说明最后由谁注册，因此他人的注册要几分钟后才能发现。",
		},
		Code: []string{codeRules, codeObserve},
	},
	{
		ID: "starting-keeps-time", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: undocumented, Sure: Low,
		Holds:     Words{"A start renews the registration time.", "启动会更新注册时间。"},
		Otherwise: Words{"Nothing: it is read again after each start.", "无影响：每次启动之后 Provider 都会重新读取该时间。"},
		Code:      []string{codeRules, codeObserve},
	},
	{
		ID: "hosting-keeps-time", Faces: []Face{ESB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: undocumented, Sure: Low,
		Holds:     Words{"Hosting a registered process renews its registration time.", "托管已注册的进程会更新其注册时间。"},
		Otherwise: Words{"Nothing: it is read again after hosting.", "无影响：托管之后 Provider 会重新读取该时间。"},
		Code:      []string{codeRules, codeObserve},
	},
	{
		ID: "agents-without-times", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: clients, Sure: Medium,
		Holds: Words{"Agents tell when a process was registered.", "Agent 会返回进程的注册时间。"},
		Otherwise: Words{
			"Ownership follows from the cached status alone, so a removal may wait for it. Keep `timeouts` above its lag.",
			"归属只能依据缓存状态判断，移除主机时可能需要等待。请让 `timeouts` 大于缓存的滞后时间。",
		},
		Code: []string{codeRules, codeObserve},
	},
	{
		ID: "entry-per-name", Faces: []Face{APIG}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: clients, Sure: Low,
		Holds: Words{"A machine with two names has one registration.", "有两个标识的机器只有一份注册。"},
		Otherwise: Words{
			"A process registered under the other name is not seen. Use the form that registered, or call `upgrade_to_agent_id` first.",
			"用另一标识注册的进程不可见。请使用注册时的标识，或先调用 `upgrade_to_agent_id`。",
		},
		Code: []string{codeNames, "internal/hostedprocess/names.go"},
	},
	{
		ID: "rows-without-host", Faces: []Face{APIG}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: clients, Sure: Low,
		Holds: Words{"A row of the cached status names the address.", "缓存状态的记录中有主机地址。"},
		Otherwise: Words{
			"Rows of hosts that are named by address are placed by asking the agents. Name hosts by agent ID.",
			"以地址标识的主机，要查询 Agent 才能确定其记录。请用 Agent ID 标识主机。",
		},
		Code: []string{codeRows, codeNames},
	},
	{
		ID: "rows-without-agent-id", Faces: []Face{APIG}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: clients, Sure: Medium,
		Holds: Words{"A row of the cached status names the agent ID.", "缓存状态的记录中有 Agent ID。"},
		Otherwise: Words{
			"Rows of hosts that are named by agent ID are placed by asking the agents. Name hosts by address.",
			"以 Agent ID 标识的主机，要查询 Agent 才能确定其记录。请用地址标识主机。",
		},
		Code: []string{codeRows, codeNames},
	},
	{
		ID: "expired-empty", Faces: gseFaces, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByCheck, Source: clients, Sure: Low,
		Holds:     Words{"A task that the platform does not know stays queued.", "平台不认识的任务一直显示排队。"},
		Otherwise: Words{"Nothing: a task without results counts as forgotten after thirty answers.", "无影响：连续三十次没有结果的任务视为已被平台遗忘。"},
		Code:      []string{"internal/procapi/resume.go"},
	},
	{
		ID: "unverified-status-400", Faces: []Face{APIG}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: server, Sure: Medium,
		Holds:     Words{"Refused credentials have HTTP status 401.", "凭据被拒绝时 HTTP 状态码为 401。"},
		Otherwise: Words{"Only the gateway's own words name the credentials.", "只能从 API 网关返回的原文得知是凭据有误。"},
		Code:      []string{"internal/bkapi/apigw.go"},
	},
	{
		ID: "manage-proc-bug", Faces: []Face{JOB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByProbe, Source: server, Sure: Medium,
		Holds: Words{"JOB registers with `manage_proc`.", "作业平台能用 `manage_proc` 注册。"},
		Otherwise: Words{
			"`manage_proc` stops the process. Leave `registration_api` at `operate_process`.",
			"`manage_proc` 会停止进程。请保持 `registration_api` 为 `operate_process`。",
		},
		Code: []string{"internal/job/process.go"},
	},
	{
		ID: "job-removed", Faces: []Face{JOB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByCheck, Source: server, Sure: High,
		Holds: Words{"JOB has process APIs (before 3.7).", "作业平台有进程类 API（3.7 之前）。"},
		Otherwise: Words{
			"The `bk_job_*` objects fail. Use `bk_hosted_process` and `bk_process_operation`.",
			"`bk_job_*` 无法使用。请使用 `bk_hosted_process` 和 `bk_process_operation`。",
		},
		Code: []string{"internal/job/error.go"},
	},
	{
		ID: "old-cmdb", Faces: []Face{CMDB}, Kind: YesNo, Expected: No, Switch: true, Settled: SettledByCheck, Source: server, Sure: Medium,
		Holds:     Words{"CMDB's answers have the present field names.", "配置平台的返回使用现行字段名。"},
		Otherwise: Words{"Nothing: both are read.", "无影响：两种都能读取。"},
		Code:      []string{"internal/bkapi/envelope.go"},
	},

	{
		ID: "status-lag", Faces: gseFaces, Kind: Span, Settled: SettledByProbe, Source: oneClient, Sure: Medium,
		Holds: Words{"The cached status lags by up to 5 minutes.", "缓存状态最多滞后 5 分钟。"},
		Otherwise: Words{
			"A lag above 5 minutes delays drift from consoles and removals. Keep `timeouts` above it.",
			"滞后超过 5 分钟时，发现控制台造成的漂移和移除主机都会更慢。请让 `timeouts` 大于滞后时间。",
		},
		Code: []string{codeObserve},
	},
	{
		ID: "labels-added", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: undocumented, Sure: Medium,
		Holds:     Words{"The platform adds no labels of its own.", "平台不会自行添加标签。"},
		Otherwise: Words{"Nothing: undeclared labels are not drift.", "无影响：未声明的标签不算漂移。"},
		Code:      []string{"internal/fleet/drift.go"},
	},
	{
		ID: "rows-without-labels", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: documents, Sure: High,
		Holds: Words{"A row has the labels of the registration.", "缓存状态的记录中有注册时的标签。"},
		Otherwise: Words{
			"Neither the owner nor another spec can be seen. Set `spec_fingerprint_label = \"\"`.",
			"无法看出归属和 spec 的差异。请设置 `spec_fingerprint_label = \"\"`。",
		},
		Code: []string{"internal/fleet/fingerprint.go", codeRows},
	},
	{
		ID: "stop-keeps-hosting", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: documents, Sure: High,
		Holds: Words{"A stop ends the hosting.", "停止会取消托管。"},
		Otherwise: Words{
			"The agent starts a stopped process again. Do not use the operation `stop`.",
			"Agent 会重新拉起已停止的进程。请勿使用 `stop` 操作。",
		},
		Code: []string{"internal/fleet/operate.go"},
	},
	{
		ID: "kill-keeps-hosting", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: documents, Sure: High,
		Holds:     Words{"A kill ends the hosting.", "强制停止会取消托管。"},
		Otherwise: Words{"As for a stop, with `kill`.", "同停止，请勿使用 `kill` 操作。"},
		Code:      []string{"internal/fleet/operate.go"},
	},
	{
		ID: "start-keeps-unhosted", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: documents, Sure: High,
		Holds: Words{"A start hosts the process.", "启动会托管进程。"},
		Otherwise: Words{
			"A process that was only started is not revived. Declare `ensure = \"hosted\"` for it.",
			"仅被启动的进程不会被拉起。请为其声明 `ensure = \"hosted\"`。",
		},
		Code: []string{"internal/fleet/operate.go"},
	},
	{
		ID: "unregister-keeps-hosting", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: undocumented, Sure: Medium,
		Holds: Words{"Unregistering ends the hosting.", "注销会取消托管。"},
		Otherwise: Words{
			"The agent revives what was removed. Do not remove hosts or destroy; report it.",
			"Agent 会继续拉起已移除的进程。请勿移除主机或 destroy，并向我们报告。",
		},
		Code: []string{codeESB},
	},
	{
		ID: "second-register", Faces: []Face{ESB}, Kind: Code, Expected: "850", Settled: SettledByProbe, Source: clients, Sure: Medium,
		Holds: Words{"Registering what is registered has code 850.", "重复注册的返回码为 850。"},
		Otherwise: Words{
			"With 0, a create may replace a registration that appeared while it ran. Other codes are failures.",
			"若为 0，创建可能会覆盖执行期间出现的注册；其他返回码视为失败。",
		},
		Code: []string{codeRegister},
	},
	{
		ID: "second-start", Faces: gseFaces, Kind: Code, Expected: "828", Settled: SettledByProbe, Source: clients, Sure: High,
		Holds:     Words{"Starting what runs has code 828.", "重复启动的返回码为 828。"},
		Otherwise: Words{"With 0, nothing. Other codes are failures.", "若为 0，无影响；其他返回码视为失败。"},
		Code:      []string{codeVerdicts},
	},
	{
		ID: "second-stop", Faces: gseFaces, Kind: Code, Expected: "829", Settled: SettledByProbe, Source: clients, Sure: High,
		Holds:     Words{"Stopping what does not run has code 829.", "重复停止的返回码为 829。"},
		Otherwise: Words{"With 0, nothing. Other codes are failures.", "若为 0，无影响；其他返回码视为失败。"},
		Code:      []string{codeVerdicts},
	},
	{
		ID: "one-shot-start", Faces: gseFaces, Kind: Code, Expected: "836", Settled: SettledByProbe, Source: clients, Sure: High,
		Holds:     Words{"Starting a one-shot process has code 836.", "启动一次性进程的返回码为 836。"},
		Otherwise: Words{"With 0, nothing. Other codes are failures.", "若为 0，无影响；其他返回码视为失败。"},
		Code:      []string{codeVerdicts},
	},
	{
		ID: "second-unregister", Faces: gseFaces, Kind: Code, Expected: "829", Settled: SettledByProbe, Source: oneClient, Sure: Medium,
		Holds:     Words{"Unregistering what is not registered has code 829.", "重复注销的返回码为 829。"},
		Otherwise: Words{"With 0, nothing. Other codes are failures.", "若为 0，无影响；其他返回码视为失败。"},
		Code:      []string{codeRegister, codeVerdicts},
	},
	{
		ID: "results-renamed", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByProbe, Source: clients, Sure: Medium,
		Holds:     Words{"Results name a host as the request did.", "结果中的主机标识与请求一致。"},
		Otherwise: Words{"Nothing: results are found by either name of a machine.", "无影响：机器的两个标识都能匹配结果。"},
		Code:      []string{codeOperate},
	},

	{
		ID: "dead-not-revived", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByNothing, Source: documents, Sure: High,
		Holds: Words{"The agent revives a hosted process that dies.", "托管的进程退出后，Agent 会拉起它。"},
		WhyUnsettled: Words{
			"kill one on the host and look",
			"请在主机上杀死一个进程并观察",
		},
		Code: []string{codeSchema},
	},
	{
		ID: "operations-drop-limits", Faces: gseFaces, Kind: YesNo, Expected: No, Settled: SettledByNothing, Source: oneClient, Sure: Low,
		Holds: Words{"Operations with limits keep them (gateway).", "携带限额的操作会保留限额（API 网关）。"},
		WhyUnsettled: Words{
			"only the agent's file `.proc` has them",
			"只有 Agent 的 `.proc` 文件中有限额",
		},
		Code: []string{codeOperate},
	},
	{
		ID: "limits-kill", Faces: gseFaces, Kind: YesNo, Settled: SettledByNothing, Source: documents, Sure: Low,
		Holds: Words{"Beyond a limit the agent stops or kills the process.", "超出限额时，Agent 停止或强制停止进程。"},
		WhyUnsettled: Words{
			"it takes a process that uses up the host",
			"需要一个耗尽主机资源的进程",
		},
		Code: []string{codeSchema},
	},
	{
		ID: "rare-codes", Faces: gseFaces, Kind: YesNo, Settled: SettledByNothing, Source: clients, Sure: Low,
		Holds:        Words{"Codes 126 and 1015012 mean terminated and stopping.", "返回码 126 和 1015012 表示被终止和正在停止。"},
		WhyUnsettled: Words{"nothing brings them about on purpose", "无法有意触发"},
		Code:         []string{"internal/procapi/code.go"},
	},
	{
		ID: "silent-agent", Faces: gseFaces, Kind: Code, Expected: "117", Settled: SettledByNothing, Source: clients, Sure: High,
		Holds:        Words{"An agent that is away has code 117, or 115 until a time limit.", "Agent 离线时返回码为 117，或一直为 115 直至超时。"},
		WhyUnsettled: Words{"it takes a host whose agent is stopped", "需要一台 Agent 已停止的主机"},
		Code:         []string{codeVerdicts},
	},
	{
		ID: "agent-file", Faces: []Face{ESB, APIG, JOB}, Kind: YesNo, Expected: Yes, Settled: SettledByNothing, Source: clients, Sure: Medium,
		Holds: Words{
			"Agents keep what they host in `/usr/local/gse2_bkte/agent/etc/.proc`.",
			"Agent 将其托管内容保存在 `/usr/local/gse2_bkte/agent/etc/.proc`。",
		},
		WhyUnsettled: Words{
			"roots differ",
			"根目录因平台而异",
		},
		Code: []string{"internal/hostedspec/source.go"},
	},
	{
		ID: "agent-file-current", Faces: []Face{ESB, APIG, JOB}, Kind: YesNo, Expected: Yes, Settled: SettledByNothing, Source: undocumented, Sure: Low,
		Holds: Words{
			"Agents write that file before an operation ends.",
			"Agent 在操作结束之前写入该文件。",
		},
		WhyUnsettled: Words{
			"a late one looks like drift",
			"写入较晚时看起来像漂移",
		},
		Code: []string{"internal/gse/verify.go"},
	},
	{
		ID: "script-answers", Faces: []Face{APIG, JOB}, Kind: YesNo, Expected: Yes, Settled: SettledByNothing, Source: clients, Sure: High,
		Holds: Words{
			"A running script has status 1 or code 115 (gateway), or status 5 or 7 (JOB).",
			"正在运行的脚本：状态 1 或返回码 115（API 网关），或状态 5、7（作业平台）。",
		},
		WhyUnsettled: Words{
			"it ends too soon",
			"脚本结束得太快",
		},
		Code: []string{"internal/gse/script.go", "internal/job/hosted.go"},
	},
	{
		ID: "task-lifetime", Faces: gseFaces, Kind: Span, Settled: SettledByNothing, Source: undocumented, Sure: Low,
		Holds:        Words{"Results of a task can be read for as long as an apply may take.", "在一次 apply 的时间内可以读取任务结果。"},
		WhyUnsettled: Words{"it would take days", "需要数天时间"},
		Code:         []string{"internal/procapi/resume.go"},
	},
	{
		ID: "agent-id-bounds", Faces: []Face{APIG}, Kind: YesNo, Settled: SettledByNothing, Source: undocumented, Sure: Medium,
		Holds:        Words{"Agent IDs have 16 to 64 characters.", "Agent ID 有 16 至 64 个字符。"},
		WhyUnsettled: Words{"one host has one ID", "一台主机只有一个 ID"},
		Code:         []string{"internal/fleet/host.go"},
	},
	{
		ID: "windows", Faces: gseFaces, Kind: YesNo, Settled: SettledByNothing, Source: oneClient, Sure: Low,
		Holds:        Words{"Windows hosts and `identity.user` behave as Linux and root.", "Windows 主机和 `identity.user` 的行为与 Linux 和 root 相同。"},
		WhyUnsettled: Words{"the scratch process is for Linux", "试验进程只适用于 Linux"},
		Code:         []string{"internal/gse/spec.go"},
	},
}
