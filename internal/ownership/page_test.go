package ownership

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

var writePages = flag.Bool("write-ownership", false, "let TestRules_pages write the guides in place of comparing them")

type words struct{ english, chinese string }

// term is a value of a column: its name in the table, and its meaning. Verdicts have a name alone, and the
// meaning of a reason is what to do.
type term[T comparable] struct {
	value         T
	name, meaning words
}

// Terms that combine several values come first. A cell uses one if it has all of its values.
var claimTerms = []term[Claim]{
	{doubtful, words{"uncertain", "不确定"}, words{"overtaken, refused or unconfirmed", "已被接管、被拒绝或未确认"}},
	{Registered, words{"registered", "已注册"}, words{"your resource registered it", "由您的资源注册"}},
	{Overtaken, words{"overtaken", "已被接管"}, words{"another resource registered it later", "之后另一个资源注册了它"}},
	{Foreign, words{"another's", "他人的"}, words{"someone else had registered it (`registered_by_other`)", "原已由他人注册（`registered_by_other`）"}},
	{Refused, words{"refused", "被拒绝"}, words{"registering it was refused (`not_registered`)", "注册被拒绝（`not_registered`）"}},
	{Unconfirmed, words{"unconfirmed", "未确认"}, words{"the apply was interrupted, or its answer was lost (`unconfirmed`)", "apply 被中断，或应答丢失（`unconfirmed`）"}},
}

var answerTerms = []term[Answer]{
	{anyTime, words{"any time", "任一时间"}, words{}},
	{Unasked, words{"not asked yet", "尚未查询"}, words{}},
	{NoSpec, words{"cannot be asked", "无法查询"}, words{"there is no `spec`, as after an import", "没有 `spec`，例如刚导入时"}},
	{Silent, words{"no answer", "无应答"}, words{}},
	{AskFailed, words{"asking failed", "查询失败"}, words{"or is still queued", "或仍在排队"}},
	{Idle, words{"nothing", "没有"}, words{"it does not host the process, and reports no time", "没有托管该进程，也没有注册时间"}},
	{SameTime, words{"same time", "同一时间"}, words{"the time that your last apply saw", "上一次 apply 见到的注册时间"}},
	{OtherTime, words{"another time", "另一时间"}, words{}},
	{NewTime, words{"new time", "新时间"}, words{"a time, where state has none", "有时间，而状态文件中没有"}},
	{Untimed, words{"never a time", "从无时间"}, words{"it may host the process, and has never reported a time", "可能托管着该进程，从未给出注册时间"}},
	{TimeLost, words{"no time now", "不再有时间"}, words{"the same, but it reported a time before", "同上，但以前给出过时间"}},
}

var rowTerms = []term[Row]{
	{anyOthers, words{"another (old too)", "他人（含旧）"}, words{}},
	{anyUnlabelled, words{"no owner (old too)", "无归属（含旧）"}, words{}},
	{Unread, words{"not read yet", "尚未读取"}, words{}},
	{Failed, words{"cannot be read", "无法读取"}, words{}},
	{Unplaced, words{"unclear", "不明确"}, words{"a row that may be this host's, or has no labels", "有一条记录可能属于这台主机，或者没有标签"}},
	{Absent, words{"no row", "没有记录"}, words{}},
	{Own, words{"you", "您"}, words{"the label names your resource", "标签指向您的资源"}},
	{Others, words{"another", "他人"}, words{"it names another resource", "标签指向另一个资源"}},
	{Unlabelled, words{"no owner", "无归属"}, words{"there is no such label", "没有该标签"}},
	{Beside, words{"other name", "另一标识"}, words{"another resource registered it later by the machine's other name", "之后另一个资源以该机器的另一标识注册了它"}},
	{OwnOld, words{"old: you", "旧：您"}, words{}},
	{OthersOld, words{"old: another", "旧：他人"}, words{}},
	{UnlabelledOld, words{"old: no owner", "旧：无归属"}, words{}},
}

var faceTerms = []term[Face]{
	{ESB, words{"ESB", "ESB"}, words{}},
	{Gateway, words{"gateway", "API 网关"}, words{}},
}

var verdictTerms = []term[Verdict]{
	{Ours, words{"**unregister**", "**注销**"}, words{}},
	{Theirs, words{"leave alone", "不改动"}, words{}},
	{Nobodys, words{"nothing to unregister", "没有可注销的"}, words{}},
	{AskAgent, words{"ask the agent", "查询 Agent"}, words{}},
	{AskRow, words{"read the cached status", "读取缓存状态"}, words{}},
	{Wait, words{"wait, then hold", "等待，之后保留"}, words{}},
	{Hold, words{"hold", "保留"}, words{}},
}

var reasonTerms = []term[Reason]{
	{Unreadable, words{"ownership unknown", "归属无法确定"}, words{"Try again when the platform can be read.", "等平台可以读取后再重试。"}},
	{NoAnswer, words{"no answer or time", "无应答或无时间"}, words{
		"Repair the agent. If the machine is gone for good, set [`forget_unreachable`](changing-hosts.md#when-a-machine-is-gone-for-good).",
		"修复 Agent。如果机器永久下线，请设置 [`forget_unreachable`](zh-changing-hosts.md#机器永久下线时)。",
	}},
	{Outdated, words{"outdated", "缓存过时"}, words{
		"The cached status does not show the latest registration yet. Try again later.", "缓存状态还没有显示最新的注册。请稍后重试。",
	}},
	{TookEffect, words{"refused, yet there", "被拒绝但已生效"}, words{
		"The agent hosts the process nevertheless. Apply once more with the host in `hosts`, then remove it.",
		"Agent 上仍有该进程。让主机留在 `hosts` 中再 apply 一次，然后移出。",
	}},
}

type language struct {
	in             func(words) string
	or, sep, colon string
	by             string // format of the API, in brackets
}

var languages = map[string]language{
	"ownership.md.tmpl":    {func(w words) string { return w.english }, " or ", ", ", ": ", " (%s)"},
	"zh-ownership.md.tmpl": {func(w words) string { return w.chinese }, "或", "、", "：", "（%s）"},
}

func (l language) list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], l.sep) + l.or + names[last]
}

// cell names the values that a column of a rule matches, or returns "" if it matches all.
func cell[T ~uint8 | ~uint16](l language, terms []term[T], set T) string {
	var names []string
	for _, t := range terms {
		if set&t.value == t.value {
			set &^= t.value
			names = append(names, l.in(t.name))
		}
	}
	if set != 0 {
		panic(fmt.Sprintf("a value of %T has no name: %d", set, set))
	}
	return l.list(names)
}

func named[T comparable](l language, terms []term[T], value T) string {
	return l.in(terms[slices.IndexFunc(terms, func(t term[T]) bool { return t.value == value })].name)
}

type (
	pageRule struct {
		Number                     int
		State, Agent, Cached, Then string
	}
	pageTerm struct{ Name, Meaning string }
)

func (l language) line(number int, r rule) pageRule {
	p := pageRule{number, cell(l, claimTerms, r.claim), cell(l, answerTerms, r.answer), cell(l, rowTerms, r.row), named(l, verdictTerms, r.then)}
	if by := cell(l, faceTerms, r.face); by != "" {
		p.State += fmt.Sprintf(l.by, by)
	}
	if r.why != None {
		p.Then += l.colon + named(l, reasonTerms, r.why)
	}
	return p
}

// explained returns the terms that have a meaning beyond their names.
func explained[T comparable](l language, terms []term[T]) []pageTerm {
	var lines []pageTerm
	for _, t := range terms {
		if meaning := l.in(t.meaning); meaning != "" {
			lines = append(lines, pageTerm{l.in(t.name), meaning})
		}
	}
	return lines
}

// The guides about ownership show the table of rules.
func TestRules_pages(t *testing.T) {
	t.Parallel()
	// The first rules decide every case without labels, so the guides show them as a table of their own.
	labelled := slices.IndexFunc(rules, func(r rule) bool { return r.face != Blind })
	if all := (rule{face: Blind, then: rules[labelled-1].then}); rules[labelled-1] != all {
		t.Fatalf("the last rule without labels does not match everything: %+v", rules[labelled-1])
	}
	for name, l := range languages {
		lines := func(table []rule) []pageRule {
			var all []pageRule
			for i, r := range table {
				r.face &^= Blind
				all = append(all, l.line(i+1, r))
			}
			return all
		}
		layout, err := template.ParseFiles(filepath.Join("testdata", name))
		fleettest.NoError(t, err)
		var page strings.Builder
		err = layout.Execute(&page, map[string]any{
			"Blind": lines(rules[:labelled]), "Labelled": lines(rules[labelled:]), "Claims": explained(l, claimTerms),
			"Answers": explained(l, answerTerms), "Rows": explained(l, rowTerms), "Reasons": explained(l, reasonTerms),
		})
		fleettest.NoError(t, err)
		file := filepath.Join("..", "..", "templates", "guides", name)
		if *writePages {
			fleettest.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
			continue
		}
		written, err := os.ReadFile(file)
		fleettest.NoError(t, err)
		diff := cmp.Diff(page.String(), string(written))
		fleettest.Check(t, diff == "", "%s is out of date, run make generate (-rules +page):\n%s", file, diff)
	}
}
