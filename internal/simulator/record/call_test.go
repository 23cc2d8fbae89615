package record_test

import (
	"reflect"
	"strings"
	"testing"

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
	if got, want := calls.APIs(), []string{"register_proc_info", "operate_proc_v2", "get_proc_operate_result_v2"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	register, operate, poll := calls[0], calls[1], calls[2]
	if register.Seq != 1 || register.Face != "esb" || register.Op != -1 || register.Namespace != "web" || register.Name != "nginx" ||
		!reflect.DeepEqual(register.Hosts, []string{"0:10.0.0.1", "0:10.0.0.2"}) || register.Labels["team"] != "sre" ||
		!strings.Contains(string(register.Spec), `"cpu":30.5`) || register.Status != 200 || register.End.Before(register.Start) {
		t.Errorf("register: %+v", register)
	}
	if operate.Op != 0 || operate.TaskID != id || poll.TaskID != id || poll.Op != 0 {
		t.Errorf("operate: %+v\npoll: %+v", operate, poll)
	}
	for _, call := range calls {
		if strings.Contains(string(call.Body), "s3cret") || !strings.Contains(string(call.Body), `"bk_app_secret":"***"`) {
			t.Errorf("body: %s", call.Body)
		}
	}
	if calls.Count("register_proc_info") != 1 || calls.HostCalls("register_proc_info") != 2 || calls.HostCalls("*") != 3 ||
		len(calls.Of("operate_*")) != 1 || len(calls.OfOp(simulator.OpStart)) != 1 || len(calls.On("0:10.0.0.1")) != 1 {
		t.Errorf("the helpers do not count %v", calls.APIs())
	}

	calls[0].Hosts[0] = "changed"
	if c.Sim.Calls()[0].Hosts[0] == "changed" {
		t.Error("a copy changes the record")
	}
	if c.Sim.ResetCalls(); len(c.Sim.Calls()) != 0 {
		t.Error("ResetCalls leaves calls")
	}
}

func TestCalls_bounded(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t, &simulator.Server{MaxCalls: 3, MaxTasks: 1})
	first := c.Operate(simulator.OpQuery, "10.0.0.1")
	c.Operate(simulator.OpQuery, "10.0.0.1")
	if env := c.Poll(first); env.Code != simulator.CodeTaskQueued {
		t.Errorf("a forgotten task: %+v", env)
	}
	c.Poll(first)
	if got := c.Sim.Calls(); len(got) != 3 || got.Last().Seq != 4 || len(c.Sim.Tasks()) != 1 {
		t.Errorf("%d calls, %d tasks", len(got), len(c.Sim.Tasks()))
	}
}
