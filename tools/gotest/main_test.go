package main

import (
	"strings"
	"testing"
	"time"
)

// events are those of tests that pass, fail or are skipped, and of a package that does not build.
const events = `{"Action":"start","Package":"x/a"}
{"Action":"output","Package":"x/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"x/a","Test":"TestOne","Output":"--- PASS: TestOne (0.00s)\n"}
{"Action":"pass","Package":"x/a","Test":"TestOne","Elapsed":0}
{"Action":"output","Package":"x/a","Test":"TestTwo","Output":"=== RUN   TestTwo\n"}
{"Action":"output","Package":"x/a","Test":"TestTwo","Output":"    a_test.go:3: two is wrong\n"}
{"Action":"output","Package":"x/a","Test":"TestTwo","Output":"--- FAIL: TestTwo (0.00s)\n"}
{"Action":"fail","Package":"x/a","Test":"TestTwo","Elapsed":0}
{"Action":"output","Package":"x/a","Output":"FAIL\n"}
{"Action":"output","Package":"x/a","Output":"FAIL\tx/a\t2.500s\n"}
{"Action":"fail","Package":"x/a","Elapsed":2.5}
{"Action":"skip","Package":"x/b","Test":"TestThree","Elapsed":0}
{"Action":"output","Package":"x/b","Output":"PASS\n"}
{"Action":"output","Package":"x/b","Output":"ok  \tx/b\t1.000s\n"}
{"Action":"pass","Package":"x/b","Elapsed":1}
{"Action":"output","Package":"x/b","Output":"ok  \tx/b\t3.000s\n"}
{"Action":"pass","Package":"x/b","Elapsed":3}
no required module provides package x/c
{"ImportPath":"x/d","Action":"build-output","Output":"d.go:1:1: expected 'package'\n"}
{"ImportPath":"x/d","Action":"build-fail"}
{"Action":"output","Package":"x/d","Output":"FAIL\tx/d [build failed]\n"}
{"Action":"fail","Package":"x/d","Elapsed":0,"FailedBuild":"x/d"}
`

func TestResults_fine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		results
		want bool
	}{
		"one failed":        {results{passed: 3, failed: 1}, false},
		"no test ran":       {results{packages: map[string]float64{"x/a": 0.1}}, false},
		"all passed":        {results{passed: 3}, true},
		"all were left out": {results{skipped: 1}, true},
	} {
		if got := c.fine(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The output of a passing test is shown only if all output is wanted, and that of a failing test always. A package shows its result.
func TestRead(t *testing.T) {
	t.Parallel()
	var out, all strings.Builder
	r, err := read(strings.NewReader(events), &out, false)
	if err != nil {
		t.Fatal(err)
	}
	r.print(&out, 90*time.Second)
	const want = `    a_test.go:3: two is wrong
--- FAIL: TestTwo (0.00s)
FAIL	x/a	2.500s
FAIL
ok  	x/b	1.000s
ok  	x/b	3.000s
no required module provides package x/c
d.go:1:1: expected 'package'
FAIL	x/d [build failed]

The slowest packages:
     4.0 s  x/b
     2.5 s  x/a
     0.0 s  x/d
It took 90 s.
1 passed, 2 failed, 1 skipped
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if _, err := read(strings.NewReader(events), &all, true); err != nil || !strings.HasPrefix(all.String(), "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n") {
		t.Errorf("%v, got:\n%s", err, &all)
	}
}
