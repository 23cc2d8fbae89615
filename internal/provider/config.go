package provider

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

const summaryMissingSetting = "Missing Provider Setting"

// Names of gateways, which are part of their URLs.
const (
	gseGateway  = "bk-gse"
	cmdbGateway = "bk-cmdb"
)

// resolve makes the platform from the provider block and the environment. It sends no request: the first call
// shows whether the secret is valid.
func (p *bkProvider) resolve(ctx context.Context, block types.Object, terraformVersion string) (*settings, *platform.Platform, diag.Diagnostics) {
	s := newSettings()
	unknown, diags := s.resolve(ctx, block)
	if len(unknown) > 0 {
		return s, &platform.Platform{Unknown: unknown}, nil
	}
	s.checkIdentity(&diags)
	s.checkLabels(&diags)
	s.readCertificates(&diags)
	if diags.HasError() {
		return s, nil, diags
	}
	s.API.UserAgent = userAgent(p.Version, terraformVersion)
	connected := p.connect(s, &diags)
	if connected != nil {
		s.warn(&diags)
	}
	return s, connected, diags
}

// resolve reads every setting from the block or from the environment. unknown names the settings whose values
// are unknown. If there are any, nothing is read.
func (s *settings) resolve(ctx context.Context, block types.Object) (unknown []string, diags diag.Diagnostics) {
	identified := false
	for _, d := range s.declared {
		value := d.valueOf(block)
		if !reference.Known(ctx, value) {
			unknown = append(unknown, d.name)
		}
		identified = identified || (d.identity && textOf(value) != "")
	}
	if len(unknown) > 0 {
		return unknown, nil
	}
	for _, d := range s.declared {
		value := d.valueOf(block)
		inBlock := !value.IsNull()
		if d.identity {
			// A token in the environment does not clash with a configured user.
			inBlock = identified
		}
		var err error
		if inBlock {
			err = s.fromBlock(d, value)
		} else {
			err = s.fromEnvironment(d)
		}
		switch {
		case err != nil:
			diags.Append(s.invalid(d.name, err.Error()))
		case d.required && inBlock && s.given[d.name] == "":
			diags.Append(diagnose.About(path.Root(d.name), diag.NewErrorDiagnostic(summaryMissingSetting,
				fmt.Sprintf("%s is an empty text in the provider block, which hides the environment variable %s. Give it a value, or leave it out (null) to use the variable.", d.name, d.env))))
		case d.required && s.given[d.name] == "":
			diags.Append(diagnose.About(path.Root(d.name), diag.NewErrorDiagnostic(summaryMissingSetting,
				fmt.Sprintf("%s is not set. Set it in the provider block, or set the environment variable %s.", d.name, d.env))))
		}
	}
	return nil, diags
}

func (s *settings) fromBlock(d setting, value attr.Value) error {
	if text, ok := value.(types.String); !ok || text.ValueString() != "" {
		s.given[d.name] = d.name
	}
	return d.kind.set(value)
}

func (s *settings) fromEnvironment(d setting) error {
	text := os.Getenv(d.env)
	kind, ok := d.kind.(parser)
	if text == "" || !ok {
		return nil
	}
	s.given[d.name] = d.env
	return kind.parse(text)
}

// invalid returns the error for an invalid setting. If the value came from the environment, the error names the
// variable.
func (s *settings) invalid(name, why string) diag.Diagnostic {
	source := "Attribute " + name
	if given := s.given[name]; given != "" && given != name {
		source = "Environment variable " + given
	}
	return diagnose.About(pathOf(name), diag.NewErrorDiagnostic(diagnose.SummaryInvalidProvider, source+": "+why+"."))
}

// checkIdentity adds an error unless exactly one user is set on whose behalf calls are made.
func (s *settings) checkIdentity(diags *diag.Diagnostics) {
	var names, variables, users []string
	last := ""
	for _, d := range s.declared {
		if !d.identity {
			continue
		}
		names, variables = append(names, d.name), append(variables, d.env)
		if given := s.given[d.name]; given != "" {
			users, last = append(users, given), d.name
		}
	}
	switch len(users) {
	case 1:
	case 0:
		diags.Append(diagnose.About(path.Root(names[0]), diag.NewErrorDiagnostic(summaryMissingSetting, "No user is set on whose behalf to call the platform. "+
			"Set one of "+strings.Join(names, ", ")+", or one of the environment variables "+strings.Join(variables, ", ")+".")))
	default:
		diags.Append(diagnose.About(path.Root(last), diag.NewErrorDiagnostic(diagnose.SummaryInvalidProvider,
			"More than one user identity is set: "+strings.Join(users, ", ")+". Set exactly one.")))
	}
}

// checkLabels adds an error if a default label is one that the provider itself sets.
func (s *settings) checkLabels(diags *diag.Diagnostics) {
	for label, holds := range reference.ReservedLabels(s.fingerprintLabel) {
		if _, taken := s.defaultLabels[label]; taken {
			reference.AddInvalid(diags, path.Root("default_labels").AtMapKey(label), "Invalid Label", "the provider stores the "+holds+
				" in this label; use another, or set spec_fingerprint_label to a label that is free")
		}
	}
}

// readCertificates reads ca_cert_file. A file without a certificate is an error: it would have no effect,
// although the user wants it trusted.
func (s *settings) readCertificates(diags *diag.Diagnostics) {
	if s.caCertFile == "" {
		return
	}
	text, err := os.ReadFile(s.caCertFile)
	switch {
	case err != nil:
		diags.Append(s.invalid("ca_cert_file", err.Error()))
	case !x509.NewCertPool().AppendCertsFromPEM(text):
		diags.Append(s.invalid("ca_cert_file", s.caCertFile+" contains no readable certificate; certificates must be in PEM format, "+
			"and begin with -----BEGIN CERTIFICATE-----"))
	}
	s.API.CACert = text
}

// connect makes the clients. It returns nil if they cannot work with the settings.
func (p *bkProvider) connect(s *settings, diags *diag.Diagnostics) *platform.Platform {
	s.API.Gateway, s.API.Setting = bkapi.Gateway(s.gateway), "endpoint"
	if s.checkHosted(diags); diags.HasError() {
		return nil
	}
	s.API.Limits = bkapi.NewLimits(s.maxConcurrent, s.requestsPerSecond)
	s.API.Logger = newLogger()
	s.API.Dial = p.Dial
	if s.given["retry_wait_max"] == "" {
		s.API.RetryWaitMax = max(s.API.RetryWaitMax, s.API.RetryWaitMin)
	}
	client, err := bkapi.New(s.API)
	if err != nil {
		diags.Append(s.configError(err, s.API.Setting))
		return nil
	}
	jobClient, err := p.connectJob(s)
	if err != nil {
		diags.Append(s.configError(err, "job_endpoint"))
		return nil
	}
	cmdbClient, err := connectCMDB(s)
	if err != nil {
		diags.Append(s.configError(err, "cmdb_endpoint"))
		return nil
	}
	gseClient := gse.NewClient(client, s.API.Gateway, procapi.Options{MaxHosts: s.maxHosts, Backoff: p.Backoff, Logger: s.API.Logger})
	gseClient.Hosted = s.hostedReader(gseClient, jobClient)
	return &platform.Platform{
		CMDB:             cmdbClient,
		Owners:           &platform.Owners{},
		Job:              jobClient,
		GSE:              gseClient,
		Log:              s.API.Logger,
		Pace:             p.Pace,
		Clock:            cmp.Or[poll.Clock](p.Clock, poll.Wall{}),
		Backoff:          p.Backoff,
		Gateway:          s.API.Gateway,
		Supplier:         s.supplier,
		MaxUnreachable:   s.maxUnreachable,
		Verify:           fleet.Verify(s.verify),
		DefaultLabels:    s.defaultLabels,
		FingerprintLabel: s.fingerprintLabel,
	}
}

// connectJob returns nil if no ESB is known, because only the ESB has JOB's process APIs.
func (p *bkProvider) connectJob(s *settings) (*job.Client, error) {
	config, known := s.jobConfig()
	if !known {
		return nil, nil
	}
	client, err := bkapi.New(config)
	if err != nil {
		return nil, err
	}
	return job.NewClient(client, job.Options{API: job.API(s.jobAPI), MaxHosts: s.maxHosts, Backoff: p.Backoff, Logger: config.Logger}), nil
}

// jobConfig returns the configuration for JOB. known is false if no setting says where JOB is.
func (s *settings) jobConfig() (config bkapi.Config, known bool) {
	config = s.API
	config.Gateway = bkapi.ESB
	if s.jobEndpoint != "" {
		config.Endpoint, config.Setting = s.jobEndpoint, "job_endpoint"
	}
	return config, s.jobEndpoint != "" || s.API.Gateway == bkapi.ESB
}

// checkHosted adds an error if hosted_specs cannot work.
func (s *settings) checkHosted(diags *diag.Diagnostics) {
	_, esb := s.jobConfig()
	switch {
	case s.hostedVia == viaGateway && s.API.Gateway != bkapi.APIGW:
		diags.Append(s.invalid("hosted_specs.via", `the ESB has no script API; set it to "job", and hosted_specs.job_scope`))
	case s.hostedVia == viaJob && !esb:
		diags.Append(s.invalid("hosted_specs.via", "nothing says where JOB is; set job_endpoint"))
	case s.hostedVia == viaJob && s.jobScope.ID == "":
		diags.Append(s.invalid("hosted_specs.via", "JOB runs scripts in a scope; set hosted_specs.job_scope"))
	case s.hostedVia == viaJob && s.jobAPI != string(job.V3):
		diags.Append(s.invalid("hosted_specs.via", fmt.Sprintf("scripts require job_api = %q", job.V3)))
	}
}

// hostedReader returns the reader of what agents host. checkHosted has checked the settings.
func (s *settings) hostedReader(gseClient *gse.Client, jobClient *job.Client) procapi.HostedReader {
	switch {
	case s.hostedVia != viaJob && s.API.Gateway == bkapi.APIGW:
		return gse.HostedFiles{Client: gseClient, Source: s.hosted}
	case s.jobScope.ID == "":
		return procapi.Unread("JOB runs the script that reads it, and hosted_specs.job_scope is not set. Set it to the business of the hosts in the provider block: " +
			`hosted_specs = { job_scope = { id = "2" } }`)
	case s.jobAPI != string(job.V3):
		return procapi.Unread(fmt.Sprintf("JOB runs the script that reads it, which requires job_api = %q, and job_api is %q", job.V3, s.jobAPI))
	}
	return job.HostedFiles{Client: jobClient, Source: s.hosted, Scope: s.jobScope}
}

// cmdbConfig returns the configuration for CMDB. known is false if no setting says where CMDB is.
func (s *settings) cmdbConfig() (config bkapi.Config, known bool) {
	config = s.API
	switch {
	case s.cmdbEndpoint != "":
		config.Endpoint, config.Setting = s.cmdbEndpoint, "cmdb_endpoint"
	case config.Gateway == bkapi.APIGW && strings.Count(config.Endpoint, gseGateway) != 1:
		return bkapi.Config{}, false
	case config.Gateway == bkapi.APIGW:
		config.Endpoint, config.Setting = strings.Replace(config.Endpoint, gseGateway, cmdbGateway, 1), "cmdb_endpoint"
	}
	return config, true
}

// connectCMDB returns nil if no setting says where CMDB is.
func connectCMDB(s *settings) (*cmdb.Client, error) {
	config, known := s.cmdbConfig()
	if !known {
		return nil, nil
	}
	client, err := bkapi.New(config)
	if err != nil {
		return nil, err
	}
	return cmdb.NewClient(client, config.Gateway), nil
}

// configError rewords an error of the clients' configuration with the names of the provider block. endpoint is
// the setting that bkapi.Config.Endpoint comes from.
func (s *settings) configError(err error, endpoint string) diag.Diagnostic {
	var bad *bkapi.ConfigError
	if !errors.As(err, &bad) {
		return diag.NewErrorDiagnostic(diagnose.SummaryInvalidProvider, diagnose.Sentence(err.Error()))
	}
	name := ""
	var renames []string
	for _, d := range s.declared {
		if d.field == "" {
			continue
		}
		renames = append(renames, d.field, d.name)
		if d.field == bad.Field {
			name = d.name
		}
	}
	switch {
	case bad.Field == "Endpoint":
		name = endpoint
	case name == "":
		return diag.NewErrorDiagnostic(diagnose.SummaryInvalidProvider, diagnose.Sentence(err.Error()))
	}
	return s.invalid(name, strings.NewReplacer(renames...).Replace(bad.Reason))
}

// warn adds warnings about settings that work but expose too much.
func (s *settings) warn(diags *diag.Diagnostics) {
	if s.API.InsecureSkipVerify {
		diags.Append(diagnose.About(path.Root("insecure_skip_verify"), diag.NewWarningDiagnostic("Certificate Not Verified",
			"The platform's certificate is not verified, so anyone between this machine and "+s.API.Endpoint+" can read and change "+
				"everything, including app_secret. Set ca_cert_file to the certificate of your authority instead.")))
	}
	warnPlainHTTP(diags, "endpoint", s.API.Endpoint)
	warnPlainHTTP(diags, "job_endpoint", s.jobEndpoint)
	warnPlainHTTP(diags, "cmdb_endpoint", s.cmdbEndpoint)
}

func warnPlainHTTP(diags *diag.Diagnostics, name, endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" || isLoopback(u.Hostname()) {
		return
	}
	diags.Append(diagnose.About(path.Root(name), diag.NewWarningDiagnostic("Credentials Sent in the Clear",
		"Connections to the "+name+" "+endpoint+" are not encrypted, so app_secret can be read on the way. Use https.")))
}

// userAgent returns a value in the form that other providers use. OpenTofu reports the Terraform release that
// it is compatible with.
func userAgent(version, terraformVersion string) string {
	agent := fmt.Sprintf("Terraform/%s (+https://www.terraform.io) terraform-provider-bk/%s", terraformVersion, version)
	if more := strings.TrimSpace(os.Getenv("TF_APPEND_USER_AGENT")); more != "" {
		agent += " " + more
	}
	return agent
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
