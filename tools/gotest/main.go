// Command gotest reads the events of one or more runs of `go test -json`. It prints what go test prints
// without -json, then the slowest packages, the time, and how many tests passed. It fails if anything
// failed, or if no test ran, which go test lets pass: -run may match none, or a shell may have split it.
//
//	{ go test -json ./a; go test -json -race ./b; } | go run ./tools/gotest [-v]
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	began := time.Now()
	verbose := flag.Bool("v", false, "print the output of tests that pass, too")
	quiet := flag.Bool("summary", false, "print nothing but the summary: the runs were shown before")
	took := flag.Duration("took", 0, "the time that the runs took, if it is not that of reading")
	flag.Parse()
	out := io.Writer(os.Stdout)
	if *quiet {
		out = io.Discard
	}
	r, err := read(os.Stdin, out, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(2)
	}
	r.print(os.Stdout, cmp.Or(*took, time.Since(began)))
	if !r.fine() {
		os.Exit(1)
	}
}

// event is an event of test2json, or of go build for code that does not compile.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

// results are the results of all runs.
type results struct {
	passed, failed, skipped int
	packages                map[string]float64 // seconds by import path, of all its runs
}

// test identifies a test. For the package itself, name is empty.
type test struct{ pkg, name string }

// read reads events, and prints the output of failed tests and of packages.
func read(in io.Reader, out io.Writer, verbose bool) (results, error) {
	var (
		r      = results{packages: make(map[string]float64)}
		output = make(map[test]string)
		broken = make(map[string]bool) // packages with a failed test
		lines  = bufio.NewReader(in)
	)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return r, nil
		}
		if err != nil && err != io.EOF {
			return r, err
		}
		var e event
		if json.Unmarshal([]byte(line), &e) != nil { // output of the go command itself
			fmt.Fprint(out, line)
			continue
		}
		of := test{e.Package, e.Test}
		switch e.Action {
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "output":
			if verbose || (e.Test == "" && isResult(e.Output)) {
				fmt.Fprint(out, e.Output)
			} else if !strings.HasPrefix(e.Output, "=== ") { // RUN, PAUSE and CONT
				output[of] += e.Output
			}
		case "pass", "skip", "fail":
			if e.Action == "fail" {
				fmt.Fprint(out, output[of])
			}
			delete(output, of)
			r.count(e, broken)
		}
	}
}

// isResult reports whether a line is a package's result, which go test prints even if the package passed.
func isResult(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?   \t")
}

// count counts a result. A package that fails without a failed test counts as a failed test.
func (r *results) count(e event, broken map[string]bool) {
	if e.Test == "" {
		r.packages[e.Package] += e.Elapsed
		if e.Action == "fail" && !broken[e.Package] {
			r.failed++
		}
		delete(broken, e.Package)
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
	default:
		r.failed++
		broken[e.Package] = true
	}
}

// fine reports whether tests ran, and none failed.
func (r *results) fine() bool { return r.failed == 0 && r.passed+r.skipped > 0 }

// slowest is the number of packages that are listed.
const slowest = 10

func (r *results) print(out io.Writer, took time.Duration) {
	names := make([]string, 0, len(r.packages))
	for name := range r.packages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.packages[b], r.packages[a]), cmp.Compare(a, b))
	})
	fmt.Fprintln(out, "\nThe slowest packages:")
	for _, name := range names[:min(slowest, len(names))] {
		fmt.Fprintf(out, "%8.1f s  %s\n", r.packages[name], name)
	}
	fmt.Fprintf(out, "It took %d s.\n", int(took.Seconds()+0.5))
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
