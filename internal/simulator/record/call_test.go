package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCalls_record(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Send("register_proc_info", simtest.FirstBody("register_proc_info", `{"team":"sre"}`, "10.0.0.1", "10.0.0.2"))
	id := c.Operate(simulator.OpStart, "10.0.0.2")
	c.Poll(id)
	calls := c.Sim.Calls()
	simtest.Want(t, "calls", calls.APIs(), []string{"register_proc_info", "operate_proc_v2", "get_proc_operate_result_v2"})
	register, operate, poll := calls[0], calls[1], calls[2]
	if register.Seq != 1 || register.Face != "esb" || register.Op != -1 || register.Namespace != "web" || register.Name != "nginx" ||
		!slices.Equal(register.Hosts, []string{"0:10.0.0.1", "0:10.0.0.2"}) || register.Labels["team"] != "sre" ||
		!strings.Contains(string(register.Spec), `"cpu":30.5`) || register.Status != 200 || register.End.Before(register.Start) {
		t.Errorf("register: %+v", register)
	}
	simtest.Want(t, "operate", fmt.Sprint(operate.Op, operate.TaskID), "0"+id)
	simtest.Want(t, "poll", fmt.Sprint(poll.Op, poll.TaskID), "0"+id)
	for _, call := range calls {
		simtest.Check(t, !strings.Contains(string(call.Body), "s3cret") && strings.Contains(string(call.Body), `"bk_app_secret":"***"`),
			"body: %s", call.Body)
	}
	counted := []int{
		calls.Count("register_proc_info"), calls.HostCalls("register_proc_info"), calls.HostCalls("*"),
		len(calls.Of("operate_*")), len(calls.OfOp(simulator.OpStart)), len(calls.On("0:10.0.0.1")),
	}
	simtest.Want(t, "counts", counted, []int{1, 2, 3, 1, 1, 1})
	calls[0].Hosts[0] = "changed"
	simtest.Check(t, c.Sim.Calls()[0].Hosts[0] != "changed", "a copy changes the record")
	c.Sim.ResetCalls()
	simtest.Want(t, "after ResetCalls", len(c.Sim.Calls()), 0)
	few := simtest.NewVirtual(t, &simulator.Server{MaxCalls: 3, MaxTasks: 1})
	first := few.Operate(simulator.OpQuery, "10.0.0.1")
	few.Operate(simulator.OpQuery, "10.0.0.1")
	simtest.Want(t, "a forgotten task", few.Poll(first).Code, simulator.CodeTaskQueued)
	few.Poll(first)
	last := few.Sim.Calls()
	simtest.Want(t, "bounded", []int{len(last), last.Last().Seq, len(few.Sim.Tasks())}, []int{3, 4, 1})
}

func TestCalls_mostWithin(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var calls simulator.CallList
	for _, ms := range []int{0, 900, 1000, 1100, 1899, 3000} {
		calls = append(calls, simulator.Call{Start: began.Add(time.Duration(ms) * time.Millisecond)})
	}
	for span, want := range map[time.Duration]int{time.Second: 4, 901 * time.Millisecond: 3, time.Millisecond: 1, time.Minute: 6} {
		simtest.Want(t, fmt.Sprint("within ", span), calls.MostWithin(span), want)
	}
	simtest.Want(t, "of no calls", (simulator.CallList)(nil).MostWithin(time.Second), 0)
}
