// Package platform holds what the provider block configures, for every object: the clients, and the settings
// that are not the clients'.
package platform

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Platform is what Configure of a resource, data source or action receives.
type Platform struct {
	GSE *gse.Client
	// Job is nil if the provider is not configured to reach the ESB.
	Job *job.Client
	// CMDB is nil if no setting says where it is.
	CMDB *cmdb.Client
	// Unknown names the attributes of the provider block whose values are not known yet. If there are any, a
	// plan makes no calls, and GSE is nil.
	Unknown []string

	// Log gets a line for the steps of each run. Nil logs nothing.
	Log *slog.Logger
	// Pace is how often actions report their progress.
	Pace Pace
	// Clock is the clock of rollouts.
	Clock poll.Clock
	// Backoff is the wait between two checks of something that is in progress.
	Backoff poll.Backoff

	Gateway bkapi.Gateway
	// Supplier is the supplier id of host addresses that have none.
	Supplier int
	// DefaultLabels are merged into the labels of every registration, which take precedence.
	DefaultLabels map[string]string
	// FingerprintLabel is the label that has the fingerprint of the declaration; "" for none.
	FingerprintLabel string

	// MaxUnreachable is max_unreachable_hosts of objects that do not set it.
	MaxUnreachable string
	// Verify is verify of objects that do not set it.
	Verify fleet.Verify

	// Owners is shared by the objects of this provider.
	Owners *Owners
}

// From returns the platform that an object's Configure receives, nil while the provider is not configured, as
// in a validation. Any other type is a bug, which From appends to diags.
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

// WithSupplier returns the platform for hosts whose supplier id is this one if their addresses have none.
func (p *Platform) WithSupplier(id int) *Platform {
	other := *p
	other.Supplier = id
	return &other
}

// Ready reports whether calls can be made. A nil platform is not ready.
func (p *Platform) Ready() bool { return p != nil && p.GSE != nil }

// Desired returns what registrations of a process are compared with. Without a spec there is no fingerprint,
// and specs are not compared.
func (p *Platform) Desired(meta gse.Meta, spec *gse.Spec, owner string) (fleet.Desired, error) {
	labels := mergedLabels(p.DefaultLabels, meta.Labels)
	desired := fleet.Desired{FingerprintLabel: p.FingerprintLabel, Owner: owner, Labels: labels, HasSpec: spec != nil}
	if spec == nil {
		return desired, nil
	}
	var err error
	if desired.Spec, err = fleet.Fingerprint(spec, nil); err != nil {
		return desired, err
	}
	desired.Fingerprint, err = fleet.Fingerprint(spec, labels)
	return desired, err
}

// ReadHosted reads what agents host from their own files, and returns a reading for each host. windows is true
// if all these hosts run Windows.
func (p *Platform) ReadHosted(ctx context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading {
	return p.GSE.ReadHosted(ctx, hosts, windows)
}

// CannotReadHosted says why no API can read what agents host, "" if one can.
func (p *Platform) CannotReadHosted() string {
	why, _ := p.GSE.Hosted.(procapi.Unread)
	return string(why)
}

// NotReady returns the error for a platform that is not Ready, which says why calls cannot be made.
func (p *Platform) NotReady() diag.Diagnostic {
	if p == nil {
		return diagnose.NotEvaluated()
	}
	return diagnose.NotReady(p.Unknown)
}

// OwnLabels returns labels without those that the provider adds: the fingerprint, the owner, and default labels
// with their default value.
func (p *Platform) OwnLabels(labels map[string]string) map[string]string {
	own := maps.Clone(labels)
	maps.DeleteFunc(own, func(key, value string) bool {
		defaultValue, isDefault := p.DefaultLabels[key]
		return key == p.FingerprintLabel || key == p.OwnerLabel() || (isDefault && defaultValue == value)
	})
	return own
}

// OwnerLabel returns the name of the label for the id of the object that registered, "" if there is none.
func (p *Platform) OwnerLabel() string { return fleet.OwnerLabel(p.FingerprintLabel) }

// mergedLabels merges the provider's labels with the object's, which take precedence.
func mergedLabels(defaults, own map[string]string) map[string]string {
	merged := make(map[string]string, len(defaults)+len(own))
	maps.Copy(merged, defaults)
	maps.Copy(merged, own)
	return merged
}

// Pace is how often the progress of an operation is reported.
type Pace struct {
	// Now is the clock.
	Now func() time.Time
	// A change is reported once MinInterval has passed since the last message. After MaxInterval there is
	// a message even without a change.
	MinInterval, MaxInterval time.Duration
}

// DefaultPace keeps a terminal readable, and reports often enough for pipelines that end jobs without output.
var DefaultPace = Pace{Now: time.Now, MinInterval: time.Second, MaxInterval: 30 * time.Second}
