package fault

import "time"

// Effects are the combined effects of faults on one request; the fields of the same names of [Fault]
// describe them.
type Effects struct {
	Delay, Stall    time.Duration
	Wire            Wire
	Drop            string
	Status          int
	Header          map[string]string
	Body            string
	EnvelopeCode    *int
	EnvelopeMessage string
	Envelope        map[string]any
	ExtraKeys       map[string]any
	FirstKeys       map[string]any
	Keys            string
	Rows            string
	Page            string
	CountOff        int
	JobStatus       *int
	Spelling        string
	TaskID          *string
	Apply           bool
}

func combine(faults []*fault) Effects {
	var fx Effects
	for _, f := range faults {
		fx.Delay += f.pause()
		fx.Stall += f.Stall
		fx.Wire.Drip += f.Drip
		fx.Wire.Replace = merge(fx.Wire.Replace, f.Replace)
		fx.Wire.Backwards = fx.Wire.Backwards || f.Backwards
		if fx.Drop == "" {
			fx.Drop = f.Drop
		}
		if fx.Status == 0 && fx.EnvelopeCode == nil && (f.HTTPStatus != 0 || f.EnvelopeCode != nil) {
			fx.Status, fx.Body, fx.Wire.Length = f.HTTPStatus, f.Body, f.BodyBytes
			fx.EnvelopeCode, fx.EnvelopeMessage = f.EnvelopeCode, f.EnvelopeMessage
			fx.Apply = f.Apply
		}
		fx.Header = merge(fx.Header, f.Header)
		fx.Envelope = merge(fx.Envelope, f.Envelope)
		fx.ExtraKeys = merge(fx.ExtraKeys, f.ExtraKeys)
		fx.FirstKeys = merge(fx.FirstKeys, f.FirstKeys)
		if fx.Keys == "" {
			fx.Keys = f.Keys
		}
		if fx.Rows == "" {
			fx.Rows = f.Rows
		}
		if fx.Page == "" {
			fx.Page = f.Page
		}
		fx.CountOff += f.CountOff
		if fx.JobStatus == nil {
			fx.JobStatus = f.JobStatus
		}
		if fx.Spelling == "" {
			fx.Spelling = f.Spelling
		}
		if fx.TaskID == nil {
			fx.TaskID = f.TaskID
		}
	}
	fx.Wire.Half = fx.Drop == "mid"
	return fx
}

func merge[V any](into, from map[string]V) map[string]V {
	for key, v := range from {
		if into == nil {
			into = make(map[string]V)
		}
		if _, taken := into[key]; !taken {
			into[key] = v
		}
	}
	return into
}
