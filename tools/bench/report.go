package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"
)

const mib = 1 << 20

// write prints the table.
func (m *measurement) write(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "scenario\tstep\twall\tfloor\t÷ floor\tsimulator\twithout it ÷ floor\tCPU ÷ floor\tstate per host\tpeak above idle\tcalls\tfor status\t")
	last := ""
	for _, r := range m.rows {
		name := r.scenario
		if name == last {
			name = ""
		}
		last = r.scenario
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.2f\t%s\t%.2f\t%.2f\t%.0f B\t%.0f MiB\t%d\t%d\t\n", name, r.step, seconds(r.wall()), seconds(r.floorTime()),
			r.ratio(), seconds(r.busy()), r.ownRatio(), r.cpuRatio(), r.statePerHost(), float64(r.peak()-m.idle)/mib, r.calls(), r.statusCalls())
	}
	fmt.Fprintf(table, "\nAn idle provider takes %.0f MiB. Times are medians, memory and calls the worst of all runs.\n", float64(m.idle)/mib)
	return table.Flush()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// writeCSV writes every run, not only the medians.
func (m *measurement) writeCSV(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := csv.NewWriter(file)
	records := [][]string{{"scenario", "hosts", "step", "run", "wall_s", "floor_s", "simulator_s", "cpu_s", "floor_cpu_s", "state_bytes", "peak_bytes", "idle_bytes", "calls", "status_calls"}}
	for _, r := range m.rows {
		for i, s := range r.provider {
			records = append(records, []string{
				r.scenario, fmt.Sprint(r.hosts), r.step, fmt.Sprint(i + 1),
				fmt.Sprintf("%.3f", s.wall.Seconds()), fmt.Sprintf("%.3f", r.floor[i].wall.Seconds()), fmt.Sprintf("%.3f", s.busy.Seconds()),
				fmt.Sprintf("%.3f", s.cpu.Seconds()), fmt.Sprintf("%.3f", r.floor[i].cpu.Seconds()), fmt.Sprint(s.state),
				fmt.Sprint(s.peak), fmt.Sprint(m.idle), fmt.Sprint(s.calls), fmt.Sprint(s.statusCalls),
			})
		}
	}
	return errors.Join(out.WriteAll(records), file.Close())
}
