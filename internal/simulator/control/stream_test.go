package control_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// listener reads the events of a stream.
type listener struct {
	t  *testing.T
	in *bufio.Scanner
}

func listen(c *simtest.Client) *listener {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, c.URL+"/_sim/stream", nil)
	simtest.Must(c.T, err)
	resp, err := http.DefaultClient.Do(req)
	simtest.Must(c.T, err)
	c.T.Cleanup(func() { _ = resp.Body.Close() })
	simtest.Want(c.T, "content type", resp.Header.Get("Content-Type"), "text/event-stream; charset=utf-8")
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	return &listener{c.T, in}
}

// next reads up to the next event of a name, and returns its data.
func (l *listener) next(name string, into any) string {
	l.t.Helper()
	for l.in.Scan() {
		if l.in.Text() != "event: "+name {
			continue
		}
		l.in.Scan()
		data := strings.TrimPrefix(l.in.Text(), "data: ")
		if err := json.Unmarshal([]byte(data), into); err != nil {
			l.t.Fatalf("%s: %v: %s", name, err, data)
		}
		return data
	}
	l.t.Fatalf("the stream ended before %s: %v", name, l.in.Err())
	return ""
}

type fleetEvent struct {
	Cells []struct {
		ID         int
		Host, Name string
		Running    bool
		Places     []string
		Last       struct {
			Action string
			Code   int
		}
	}
	Gone []int
}

// A stream begins with everything, and continues with changes only.
func TestStream_sendsChanges(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"shop","sets":[{"name":"gz","modules":[{"name":"web","hosts":[{"count":3,"ip":"10.0.0.9"}]}]}]}]}`)
	c.Call("register_proc_info", "10.0.0.9")
	l := listen(c)
	var fleet fleetEvent
	l.next("fleet", &fleet)
	var hosts []string
	for _, cell := range fleet.Cells {
		hosts = append(hosts, fmt.Sprint(cell.Host, cell.Places, cell.Name, cell.Last.Action))
	}
	// Those without a process come first, each sorted by address.
	simtest.Want(t, "cells", hosts, []string{"0:10.0.0.10[shop/gz/web]", "0:10.0.0.11[shop/gz/web]", "0:10.0.0.9[shop/gz/web]nginxregister"})
	registered := fleet.Cells[2]
	c.Do(simulator.OpStart, "10.0.0.9")
	l.next("fleet", &fleet)
	if len(fleet.Cells) != 1 || fleet.Cells[0].ID != registered.ID || !fleet.Cells[0].Running || fleet.Cells[0].Last.Action != "start" {
		t.Errorf("after a start: %+v", fleet)
	}
	var calls struct {
		Calls []struct {
			API         string
			Hosts, Code int
			Done        bool
		}
	}
	l.next("calls", &calls)
	got := calls.Calls
	simtest.Check(t, len(got) > 0 && got[0].API == "operate_proc_v2" && got[0].Hosts == 1 && got[0].Done, "calls: %+v", got)
	c.Sim.Inject(simulator.Fault{Hosts: []string{"0:10.0.0.10"}, Unreachable: "117"})
	days := l.next("days", &struct{}{})
	want := `"id":1,"fault":{"hosts":["0:10.0.0.10"],"unreachable":"117"},"machines":["0:10.0.0.10"],"struck":0`
	simtest.Check(t, strings.Contains(days, want), "days: %s", days)
	c.Call("register_proc_info", "10.0.0.10")
	l.next("fleet", &fleet)
	if len(fleet.Cells) != 1 || fleet.Cells[0].Last.Code != simulator.CodeAgentAbnormal || len(fleet.Gone) != 1 {
		t.Errorf("after a register that failed: %+v", fleet)
	}
	fleet = fleetEvent{}
	simtest.Must(t, c.Sim.Unregister("0:10.0.0.9", "web", "nginx"), c.Sim.StopProcess("0:10.0.0.9", "web", "nginx"))
	l.next("fleet", &fleet)
	simtest.Check(t, slices.Contains(fleet.Gone, registered.ID), "after it went: %+v", fleet)

	// A simulator that ends does not wait for viewers.
	simtest.Must(t, c.Sim.Close())
	for l.in.Scan() {
	}
}

// One call is shown with both bodies, and without any secret.
func TestControl_showsAnExchange(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Call("register_proc_info", "10.0.0.1")
	for _, want := range []string{`"api": "register_proc_info"`, `"bk_app_secret": "***"`, `"request": {`, `"response": {`, `"error_code": 0`} {
		c.Switch("GET", "calls?seq=1", "", 200, want)
	}
	c.Sim.Inject(simulator.Fault{HTTPStatus: 200, Body: `{"data":[{"bk_token":"hidden"}]}`})
	c.BodyOf("get_proc_status_v2", "{"+simtest.Credentials+`,"meta":{"namespace":"web","name":"nginx"},`+simtest.CloudHosts("10.0.0.1")+`}`)
	if _, body := c.SwitchOn("GET", "calls?seq=2", ""); strings.Contains(body, "hidden") || strings.Contains(body, "s3cret") || !strings.Contains(body, `"bk_token": "***"`) {
		t.Errorf("a secret: %s", body)
	}
	c.Switch("GET", "calls?seq=99", "", 404, "")
	c.Switch("GET", "calls?seq=x", "", 400, "")
}
