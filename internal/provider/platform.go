package provider

import (
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/job"
)

// platform is what resources and data sources get from the provider block.
type platform struct {
	gse *gse.Client
	// job is nil where the provider block names no ESB.
	job *job.Client
	// unknown are the attributes of the provider block whose values are not known
	// yet. A plan goes on without them; gse is nil then.
	unknown []string

	// pace is how often actions tell how far they have come.
	pace pace

	gateway          bkapi.Gateway
	supplier         int
	defaultLabels    map[string]string
	fingerprintLabel string
}

// platformFrom is what an object's Configure keeps: nil while the provider is
// not configured, as in a validation.
func platformFrom(data any, diags *diag.Diagnostics) *platform {
	if data == nil {
		return nil
	}
	p, ok := data.(*platform)
	if !ok {
		diags.AddError(diagnose.SummaryBug, fmt.Sprintf("The provider's data is a %T. %s", data, diagnose.ReportBug))
	}
	return p
}

// ready tells whether calls can be made.
func (p *platform) ready() bool { return p != nil && p.gse != nil }

// desired puts together what registrations of a process are held against.
func (p *platform) desired(meta gse.Meta, spec *gse.Spec) (fleet.Desired, error) {
	labels := mergedLabels(p.defaultLabels, meta.Labels)
	desired := fleet.Desired{FingerprintLabel: p.fingerprintLabel, Labels: labels, HasSpec: spec != nil}
	if spec == nil {
		return desired, nil
	}
	fingerprint, err := fleet.Fingerprint(spec, labels)
	desired.Fingerprint = fingerprint
	return desired, err
}

// NotReady says why calls cannot be made.
func (p *platform) notReady() diag.Diagnostic {
	if p == nil {
		return diagnose.NotEvaluated()
	}
	return diagnose.NotReady(p.unknown)
}

// ownLabels are labels on file less those that the provider adds.
func (p *platform) ownLabels(labels map[string]string) map[string]string {
	own := maps.Clone(labels)
	maps.DeleteFunc(own, func(key, value string) bool {
		defaultValue, isDefault := p.defaultLabels[key]
		return key == p.fingerprintLabel || (isDefault && defaultValue == value)
	})
	return own
}

// mergedLabels puts the object's labels over the provider's.
func mergedLabels(defaults, own map[string]string) map[string]string {
	merged := make(map[string]string, len(defaults)+len(own))
	maps.Copy(merged, defaults)
	maps.Copy(merged, own)
	return merged
}

// pace is how often the progress of an operation is told.
type pace struct {
	now func() time.Time
	// Between two messages.
	minInterval, maxInterval time.Duration
}

// defaultPace leaves a terminal readable, and a pipeline that ends silent jobs
// content.
var defaultPace = pace{now: time.Now, minInterval: time.Second, maxInterval: 30 * time.Second}
