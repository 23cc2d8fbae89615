package procapi

import (
	"slices"
	"strings"
	"unicode"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Per-host codes. JOB and GSE share the rule that 0 is success and only 115 means "still running". [Call] says
// which other codes count as success for a request. The codes come from the tables of other clients.
const (
	CodeOK             = 0
	CodeInProgress     = 115
	CodeAgentAbnormal  = 117
	CodeTerminated     = 126
	CodeAlreadyRunning = 828
	CodeNotRunning     = 829
	CodeIllegalOp      = 832
	CodeCheckFailed    = 836
	CodeRegistered     = 850
	CodeStopping       = 1015012
	CodeCommandFailed  = 65535
)

// CodeTaskQueued is the envelope code of a task that has no result yet.
const CodeTaskQueued = 1000115

// meaningNotStarted includes the causes that users found when the process was running after all. The agent
// finds a process by its pid file and by the name of its executable.
const meaningNotStarted = "the process was not running when the start was checked; where it does run, start_cmd did not write its pid to pid_path, " +
	"or proc_name is not the name of its executable (readlink /proc/<pid>/exe)"

// KnownCode is a per-host code and its meaning, for diagnostics and for the glossary in the documentation.
type KnownCode struct {
	Code    int64
	Stop    bool // only with a message that begins with "stop"
	Sure    Words
	Meaning Words
	Todo    Words
}

// How certain the meaning of a code is.
var (
	certain   = Words{"certain", "确定"}    // from a document, or from several clients
	likely    = Words{"likely", "很可能"}    // from one client, which comments on it
	uncertain = Words{"uncertain", "不确定"} // from one client, without a comment
)

// Words is a text in the languages of the documentation.
type Words struct{ English, Chinese string }

// KnownCodes returns every code that has a known meaning.
func KnownCodes() []KnownCode { return slices.Clone(knownCodes) }

// knownCodes is in ascending order. 836 has two meanings, depending on its message.
var knownCodes = []KnownCode{
	{
		Code:    CodeInProgress,
		Sure:    certain,
		Meaning: Words{"still in progress", "仍在执行中"},
		Todo: Words{
			"Nothing: the provider asks again. If no result comes within `timeouts` (a later refresh: 30 s), look at the host's agent.",
			"无需处理：会再次查询结果，最多到 `timeouts` 到期（此后刷新时只查询 30 秒）。若始终没有结果，请检查该主机的 Agent。",
		},
	},
	{
		Code:    CodeAgentAbnormal,
		Sure:    certain,
		Meaning: Words{"the agent is abnormal or not found", "Agent 异常或不存在"},
		Todo: Words{
			"Check the address, then the agent in NodeMan (节点管理). If the machine is gone for good, see `forget_unreachable`.",
			"检查地址及其 `bk_cloud_id`，再在节点管理中查看该主机的 Agent 状态，恢复后重新 apply。若机器已永久下线，见 `forget_unreachable`。",
		},
	},
	{
		Code:    CodeTerminated,
		Sure:    uncertain,
		Meaning: Words{"the task was terminated", "任务被终止"},
		Todo: Words{
			"Find out who ended the task, by its id in the message, and apply again.",
			"根据消息中的任务 ID 查明任务被谁终止，然后重新 apply。",
		},
	},
	{
		Code:    CodeAlreadyRunning,
		Sure:    certain,
		Meaning: Words{"the process is running already", "进程已在运行"},
		Todo: Words{
			"Nothing: a start counts it as done. Restart the process to use a new command or configuration.",
			"无需处理：对启动操作而言视为成功。进程仍以原来的方式运行；要让新的命令或配置生效，请重启。",
		},
	},
	{
		Code:    CodeNotRunning,
		Sure:    certain,
		Meaning: Words{"the process is not running", "进程未在运行"},
		Todo: Words{
			"Nothing after a stop or a kill: they count it as done if the agent confirms it. After a reload, start the process first.",
			"停止、强制停止时无需处理：随后查询 Agent，若确认没有运行，即视为成功。重载时请先启动进程。",
		},
	},
	{
		Code:    CodeIllegalOp,
		Sure:    certain,
		Meaning: Words{"the platform does not know this operation", "平台不支持该操作"},
		Todo: Words{
			"Ask the administrators for the release of GSE; it may be older than the operation.",
			"向平台管理员确认 GSE 的版本，可能早于支持该操作的版本。",
		},
	},
	{
		Code: CodeCheckFailed, Stop: true,
		Sure:    certain,
		Meaning: Words{"the process was still running when the stop was checked", "停止后检查时进程仍在运行"},
		Todo: Words{
			"See on the host whether `stop_cmd` waits until the process has ended. `operation = \"kill\"` runs `kill_cmd`.",
			"在主机上确认 `stop_cmd` 是否等到进程退出才返回。`operation = \"kill\"` 会执行 `kill_cmd`（强制停止）。",
		},
	},
	{
		Code: CodeCheckFailed,
		Sure: certain,
		Meaning: Words{
			meaningNotStarted,
			"启动后检查时进程未在运行；若进程其实在运行，则是 start_cmd 没有把 pid 写入 pid_path，或 proc_name 不是可执行文件的名称（readlink /proc/<pid>/exe）",
		},
		Todo: Words{
			"Run `start_cmd` on the host, as the declared user and in `setup_path`. If the process takes longer to come up, raise `start_check_secs`. " +
				"With `auto_type = 2` it has ended as it should, and the code counts as done.",
			"在主机上以声明的用户、在 `setup_path` 下执行 `start_cmd`。若进程启动较慢，请调大 `start_check_secs`。`auto_type = 2` 的一次性进程本应结束，此返回码视为成功。",
		},
	},
	{
		Code:    CodeRegistered,
		Sure:    likely,
		Meaning: Words{"the process is registered already", "进程已被注册"},
		Todo: Words{
			"Find out who registered it. `adopt_existing = true` takes it over, and an import brings the whole process under Terraform.",
			"查明是谁注册的。`adopt_existing = true` 接管该注册；import 则把整个进程纳入 Terraform。",
		},
	},
	{
		Code:    CodeCommandFailed,
		Sure:    certain,
		Meaning: Words{"the command failed", "命令执行失败"},
		Todo: Words{
			"Read the output of the command below the host. Then run it on the host, as the declared user and in `setup_path`.",
			"先看主机下方列出的命令输出，再到主机上以声明的用户、在 `setup_path` 下执行该命令。",
		},
	},
	{
		Code:    CodeStopping,
		Sure:    uncertain,
		Meaning: Words{"the process is being stopped", "进程正在停止"},
		Todo: Words{
			"Wait, and apply again.",
			"等进程停止后重新 apply。",
		},
	},
}

// Meaning returns the meaning of a per-host code, or "" if it is unknown. 836 has two, by the platform's
// message.
func Meaning(code int64, message string) string {
	stop := strings.HasPrefix(strings.ToLower(strings.TrimSpace(message)), "stop")
	for _, known := range knownCodes {
		if known.Code == code && (stop || !known.Stop) {
			return known.Meaning.English
		}
	}
	return ""
}

// Repeats reports whether a message only repeats a meaning, or its first clause, apart from small words and the
// order of words. It serves only to avoid repetition in messages.
func Repeats(message, meaning string) bool {
	words, clause := wordsOf(message), meaning
	if end := strings.IndexAny(meaning, ",;:"); end >= 0 {
		clause = meaning[:end]
	}
	return meaning != "" && (slices.Equal(words, wordsOf(meaning)) || len(words) > 0 && slices.Equal(words, wordsOf(clause)))
}

// RepeatsOn is like [Repeats], but ignores the address of the host in the message.
func RepeatsOn(h fleet.Host, message, meaning string) bool {
	return Repeats(strings.NewReplacer(h.Address(), "", h.IP().String(), "").Replace(message), meaning)
}

var smallWords = []string{"a", "an", "the", "is", "was"}

// wordsOf returns the words of a text in alphabetical order, so that "is running already" equals "is already
// running".
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(smallWords, word) })
	slices.Sort(words)
	return words
}
