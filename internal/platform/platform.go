package platform

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

// Platform is what resources and data sources get from the provider block.
type Platform struct {
	GSE *gse.Client
	// job is nil where the provider block names no ESB.
	Job *job.Client
	// unknown are the attributes of the provider block whose values are not known
	// yet. A plan goes on without them; gse is nil then.
	Unknown []string

	// pace is how often actions tell how far they have come.
	Pace Pace

	Gateway          bkapi.Gateway
	Supplier         int
	DefaultLabels    map[string]string
	FingerprintLabel string
}

// From is what an object's Configure keeps: nil while the provider is
// not configured, as in a validation.
func From(data any, diags *diag.Diagnostics) *Platform {
	if data == nil {
		return nil
	}
	p, ok := data.(*Platform)
	if !ok {
		diags.AddError(diagnose.SummaryBug, fmt.Sprintf("The provider's data is a %T. %s", data, diagnose.ReportBug))
	}
	return p
}

// Ready tells whether calls can be made.
func (p *Platform) Ready() bool { return p != nil && p.GSE != nil }

// Desired puts together what registrations of a process are held against.
func (p *Platform) Desired(meta gse.Meta, spec *gse.Spec) (fleet.Desired, error) {
	labels := mergedLabels(p.DefaultLabels, meta.Labels)
	desired := fleet.Desired{FingerprintLabel: p.FingerprintLabel, Labels: labels, HasSpec: spec != nil}
	if spec == nil {
		return desired, nil
	}
	fingerprint, err := fleet.Fingerprint(spec, labels)
	desired.Fingerprint = fingerprint
	return desired, err
}

// NotReady says why calls cannot be made.
func (p *Platform) NotReady() diag.Diagnostic {
	if p == nil {
		return diagnose.NotEvaluated()
	}
	return diagnose.NotReady(p.Unknown)
}

// OwnLabels are labels on file less those that the provider adds.
func (p *Platform) OwnLabels(labels map[string]string) map[string]string {
	own := maps.Clone(labels)
	maps.DeleteFunc(own, func(key, value string) bool {
		defaultValue, isDefault := p.DefaultLabels[key]
		return key == p.FingerprintLabel || (isDefault && defaultValue == value)
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

// Pace is how often the progress of an operation is told.
type Pace struct {
	Now func() time.Time
	// Between two messages.
	MinInterval, MaxInterval time.Duration
}

// DefaultPace leaves a terminal readable, and a pipeline that ends silent jobs
// content.
var DefaultPace = Pace{Now: time.Now, MinInterval: time.Second, MaxInterval: 30 * time.Second}
