package simulator

import "time"

// effects are the faults of one request put together.
type effects struct {
	delay, stall    time.Duration
	wire            wire
	drop            string
	status          int
	header          map[string]string
	body            string
	envelopeCode    *int
	envelopeMessage string
	envelope        map[string]any
	extraKeys       map[string]any
	firstKeys       map[string]any
	keys            string
	jobStatus       *int
	spelling        string
	taskID          *string
	apply           bool
}

func combine(faults []*fault) effects {
	var fx effects
	for _, f := range faults {
		fx.delay += f.pause()
		fx.stall += f.Stall
		fx.wire.drip += f.Drip
		fx.wire.replace = merge(fx.wire.replace, f.Replace)
		fx.wire.backwards = fx.wire.backwards || f.Backwards
		if fx.drop == "" {
			fx.drop = f.Drop
		}
		if fx.status == 0 && fx.envelopeCode == nil && (f.HTTPStatus != 0 || f.EnvelopeCode != nil) {
			fx.status, fx.body, fx.wire.length = f.HTTPStatus, f.Body, f.BodyBytes
			fx.envelopeCode, fx.envelopeMessage = f.EnvelopeCode, f.EnvelopeMessage
			fx.apply = f.Apply
		}
		fx.header = merge(fx.header, f.Header)
		fx.envelope = merge(fx.envelope, f.Envelope)
		fx.extraKeys = merge(fx.extraKeys, f.ExtraKeys)
		fx.firstKeys = merge(fx.firstKeys, f.FirstKeys)
		if fx.keys == "" {
			fx.keys = f.Keys
		}
		if fx.jobStatus == nil {
			fx.jobStatus = f.JobStatus
		}
		if fx.spelling == "" {
			fx.spelling = f.Spelling
		}
		if fx.taskID == nil {
			fx.taskID = f.TaskID
		}
	}
	fx.wire.half = fx.drop == "mid"
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
