package main

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// plot draws the ratio to the floor of each step, by the number of hosts of one resource.
func (m *measurement) plot(path string) error {
	p := plot.New()
	p.Title.Text = "Wall time of the CLI, as a multiple of Terraform's own"
	p.X.Label.Text, p.Y.Label.Text = "hosts in one resource", "÷ floor"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{}
	p.Legend.Top = true
	p.Add(plotter.NewGrid())

	var lines []any
	low, high := 1.0, 1.0
	for _, step := range resourceSteps {
		var points plotter.XYs
		for _, r := range m.rows {
			if r.step == step.name && r.scenario == oneResource(r.hosts).name {
				points = append(points, plotter.XY{X: float64(r.hosts), Y: r.ratio()})
				low, high = min(low, r.ratio()), max(high, r.ratio())
			}
		}
		if len(points) == 0 {
			continue
		}
		slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		lines = append(lines, step.name, points)
	}
	if len(lines) == 0 {
		return nil
	}
	p.Y.Min, p.Y.Max = low*0.9, high*1.3 // room for the legend
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	return p.Save(20*vg.Centimeter, 12*vg.Centimeter, path)
}
