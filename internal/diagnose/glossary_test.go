package diagnose

import (
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// callCode is a code that the platform gives for a whole call, with its meaning and what to do.
type callCode struct {
	code          int64
	from          procapi.Words
	meaning, todo procapi.Words
}

var (
	fromGSE     = procapi.Words{English: "GSE", Chinese: "GSE"}
	fromESB     = procapi.Words{English: "ESB", Chinese: "ESB"}
	fromGateway = procapi.Words{English: "API gateway", Chinese: "API 网关"}
	fromJOB     = procapi.Words{English: "JOB", Chinese: "作业平台"}
	fromCMDB    = procapi.Words{English: "CMDB", Chinese: "配置平台"}
)

// callCodes are those that decide the outcome of a call, in the order of their numbers.
var callCodes = []callCode{
	{
		1000115, fromGSE,
		procapi.Words{English: "the task is queued and has no result yet", Chinese: "任务排队中，尚无结果"},
		procapi.Words{
			English: "Nothing: the provider asks again. If no result comes within `timeouts`, give the administrators the task id.",
			Chinese: "无需处理：会再次查询结果，最多到 `timeouts` 到期。若始终没有结果，请把任务 ID 提供给平台管理员。",
		},
	},
	{
		1210001, fromJOB,
		procapi.Words{English: "JOB had trouble with GSE, of whatever kind", Chinese: "作业平台调用 GSE 出错，不区分原因"},
		procapi.Words{
			English: "Look at the hosts: an operation may have begun; the state says `outcome_unknown`. Apply again, and quote the request id to the administrators of JOB.",
			Chinese: "操作可能已经开始，状态中记为 `outcome_unknown`，请到主机上确认后重新 apply；向作业平台管理员提供请求 ID。",
		},
	},
	{
		1306000, fromESB,
		procapi.Words{English: "a general error, often wrong credentials", Chinese: "ESB 的通用错误；`app_code` 或 `app_secret` 有误时也返回它"},
		procapi.Words{
			English: "Check `app_code` and `app_secret`.",
			Chinese: "查看报错信息中平台的原文，并检查 `app_code` 和 `app_secret`。",
		},
	},
	{
		1306201, fromESB,
		procapi.Words{English: "the ESB could not reach the system behind it, or that one was in trouble", Chinese: "ESB 无法访问后端系统，或后端系统出错"},
		procapi.Words{
			English: "Apply again once the platform has recovered. Questions and registrations were repeated; an operation was not, and its outcome is unknown.",
			Chinese: "待平台恢复后重新 apply。查询和注册已自动重试；启停类操作不会重发，结果记为未知。",
		},
	},
	{
		1306208, fromESB,
		procapi.Words{English: "the ESB could not read the answer of the system behind it", Chinese: "ESB 无法解析后端系统的应答"},
		procapi.Words{English: "As for 1306201.", Chinese: "同 1306201。"},
	},
	{
		1306404, fromESB,
		procapi.Words{English: "the ESB has no such API", Chinese: "ESB 上没有该 API"},
		procapi.Words{
			English: "Check the endpoint. JOB has no process APIs from release 3.7 on: use `bk_hosted_process` in place of `bk_job_hosted_process`.",
			Chinese: "检查 endpoint。作业平台 3.7 起已没有进程类 API：请用 `bk_hosted_process` 代替 `bk_job_hosted_process`。",
		},
	},
	{
		1306405, fromESB,
		procapi.Words{English: "the API is switched off at the ESB", Chinese: "该 API 在 ESB 上已被停用"},
		procapi.Words{English: "As for 1306404; or ask the administrators of the ESB to switch it on.", Chinese: "同 1306404；或请 ESB 管理员启用该通道。"},
	},
	{
		1306429, fromESB,
		procapi.Words{English: "too many requests; this one was turned away", Chinese: "请求过于频繁，本次请求被拒绝"},
		procapi.Words{
			English: "It was repeated. Where that is not enough, set `requests_per_second`, or lower `max_concurrent_requests`.",
			Chinese: "已自动重试。若仍不够，请设置 `requests_per_second`，或调小 `max_concurrent_requests`。",
		},
	},
	{
		1640101, fromGateway,
		procapi.Words{English: "the gateway does not accept the application", Chinese: "网关不认可该应用"},
		procapi.Words{English: "Check `app_code` and `app_secret`.", Chinese: "检查 `app_code` 和 `app_secret`。"},
	},
	{
		1640102, fromGateway,
		procapi.Words{English: "the gateway accepts the application, but not the user", Chinese: "网关认可该应用，但不认可该用户"},
		procapi.Words{
			English: "Check `username`, `token` or `access_token`, whichever is set; a token may have expired.",
			Chinese: "检查所设置的 `username`、`token` 或 `access_token`；token 可能已过期。",
		},
	},
	{
		9900403, fromCMDB,
		procapi.Words{English: "CMDB has not granted this", Chinese: "配置平台没有授权"},
		procapi.Words{
			English: "Apply for the API for the application, and in the permission center for access to the business.",
			Chinese: "为应用申请该 API 的权限，并在权限中心申请该业务的访问权限。",
		},
	},
}

// stateCode is a code in state, with its meaning and what the next apply does.
type stateCode struct {
	code          fleet.Code
	meaning, next procapi.Words
}

var stateCodes = []stateCode{
	{
		fleet.NotRegistered,
		procapi.Words{English: "this resource never registered it there", Chinese: "本资源从未在该主机上注册过"},
		procapi.Words{English: "registers it", Chinese: "注册"},
	},
	{
		fleet.NoLongerRegistered,
		procapi.Words{English: "it was registered, and the registration is gone", Chinese: "曾经注册过，注册现已不存在"},
		procapi.Words{English: "registers it again", Chinese: "重新注册"},
	},
	{
		fleet.Unconfirmed,
		procapi.Words{
			English: "an apply was interrupted, or its answers were lost, so it may be registered",
			Chinese: "apply 被中断或应答丢失，可能已经注册",
		},
		procapi.Words{English: "registers it, or finds that it is", Chinese: "注册，或确认已经注册"},
	},
	{
		fleet.RegisteredByOther,
		procapi.Words{English: "somebody else registered it", Chinese: "由他人注册"},
		procapi.Words{English: "leaves it alone, unless `adopt_existing` is set", Chinese: "不动它，除非设置了 `adopt_existing`"},
	},
	{
		fleet.OtherSpec,
		procapi.Words{English: "registered with another spec than declared", Chinese: "注册的 spec 与声明不一致"},
		procapi.Words{English: "registers it again", Chinese: "重新注册"},
	},
	{
		fleet.OtherLabels,
		procapi.Words{English: "registered with other labels than declared", Chinese: "注册的标签与声明不一致"},
		procapi.Words{English: "registers it again", Chinese: "重新注册"},
	},
	{
		fleet.NotHosted,
		procapi.Words{English: "registered, and not hosted", Chinese: "已注册，未托管"},
		procapi.Words{
			English: "waits for a hosting that may be under way, then hosts it if needed",
			Chinese: "先等待可能仍在执行的托管任务，之后仍未托管则托管",
		},
	},
	{
		fleet.NotRunning,
		procapi.Words{English: "registered, and not running", Chinese: "已注册，未运行"},
		procapi.Words{
			English: "waits for a start that may be under way, then starts it if needed",
			Chinese: "先等待可能仍在执行的启动任务，之后仍未运行则启动",
		},
	},
	{
		fleet.Unhealthy,
		procapi.Words{English: "as declared, and did not pass the gate of its rollout (`rollout.healthy`)", Chinese: "与声明一致，但没有通过分批执行的健康门禁（`rollout.healthy`）"},
		procapi.Words{English: "watches it again; as for `not_running` where it does not run", Chinese: "重新观察；未运行时同 `not_running`"},
	},
	{
		fleet.NotOperated,
		procapi.Words{English: "registered as declared, and the operation of `on_update` is still due", Chinese: "已按声明注册，`on_update` 的操作尚未完成"},
		procapi.Words{English: "runs the operation", Chinese: "执行该操作"},
	},
	{
		fleet.OperationUnconfirmed,
		procapi.Words{English: "registered as declared, and the outcome of the operation of `on_update` is unknown", Chinese: "已按声明注册，但没有收到 `on_update` 操作的结果"},
		procapi.Words{
			English: "asks the platform for its task and waits for it; failing that, asks the agent: another pid means that it worked",
			Chinese: "先按任务 ID 向平台查询并等待结果；查不到时查询 Agent：pid 变化即表示操作已生效",
		},
	},
	{
		Failed,
		procapi.Words{English: "the operation certainly failed", Chinese: "操作确定失败"},
		procapi.Words{English: "runs the operation again", Chinese: "再次执行该操作"},
	},
	{
		OutcomeUnknown,
		procapi.Words{English: "the operation was sent, and its answer was lost", Chinese: "操作已发出，但没有收到应答"},
		procapi.Words{
			English: "asks the platform, if it named a task; otherwise start, stop and kill ask the agent first, and restart and reload run again",
			Chinese: "平台给出过任务 ID 时先查询其结果；否则启动、停止、强制停止先查询 Agent，重启、重载再次执行",
		},
	},
	{
		NoVerdict,
		procapi.Words{English: "the time was up before there was a result", Chinese: "到期时仍没有结果"},
		procapi.Words{English: "as for `outcome_unknown`", Chinese: "同 `outcome_unknown`"},
	},
	{
		Interrupted,
		procapi.Words{English: "Ctrl-C came before there was a result", Chinese: "出结果之前被 Ctrl-C 中断"},
		procapi.Words{English: "as for `outcome_unknown`", Chinese: "同 `outcome_unknown`"},
	},
	{
		NotTried,
		procapi.Words{English: "its turn did not come: too many hosts had failed, Ctrl-C came, or the time was up", Chinese: "没有轮到该主机：失败的主机过多、被 Ctrl-C 中断，或时间已到"},
		procapi.Words{English: "runs the operation", Chinese: "执行该操作"},
	},
}
