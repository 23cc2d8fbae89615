package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/job"
)

// Summaries are constants: Terraform prints the resource's address beside them, and merges warnings that have
// the same summary.
const (
	SummaryInvalidHost     = "Invalid Host"
	SummaryInvalidProvider = "Invalid Provider Setting"
	summaryInvalidSpec     = "Invalid Spec"
	SummaryInvalidImport   = "Invalid Import ID"
	summaryNotConfigured   = "Provider Not Configured Yet"
	SummaryBug             = "Provider Bug"
)

const (
	inTrouble = "The platform, or something on the way to it, is failing. Apply again once it has recovered."
	tooBusy   = "Set requests_per_second, or lower max_concurrent_requests."
)

// ReportBug ends the text of errors that users cannot correct.
const ReportBug = "This is a bug in the provider; please report it."

// CallFailed returns the error for a call that failed as a whole. what is a sentence that says what was not
// done. The platform's answer and advice follow it.
func CallFailed(summary, what string, err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summary, what+"\n\n"+explain(err))
}

// UnlessInterrupted returns err, or an error if err is nil and ctx was interrupted: hosts that were not waited
// for must not be reported as unknown.
func UnlessInterrupted(ctx context.Context, err error) error {
	if err == nil && fleet.Interrupted(ctx.Err()) {
		return errors.New("interrupted before every host had answered")
	}
	return err
}

// explain says what the platform answered or why it was not reached, with the URL and the request id, and what
// to do.
func explain(err error) string {
	var failure *bkapi.Error
	if !errors.As(err, &failure) {
		return Sentence(err.Error())
	}
	text := strings.TrimSuffix(err.Error(), ".") + "."
	if !strings.Contains(text, failure.URL) {
		text += "\nURL: " + failure.URL
	}
	if failure.Kind == bkapi.KindCanceled {
		if before := troubleIn(err); before != nil {
			failure = before // an earlier failure says more than the end of the wait
		}
	}
	if todo := advice(failure); todo != "" {
		text += "\n\n" + todo
	}
	return text
}

// NoJob returns the error for a JOB object if the provider is not configured to reach JOB.
func NoJob() diag.Diagnostic {
	return diag.NewErrorDiagnostic(SummaryInvalidProvider,
		"The provider's endpoint is GSE's API gateway, but JOB's process APIs are available only through the ESB. Set job_endpoint to the URL of the ESB.")
}

// NoCMDB returns the error for an object that reads from CMDB if no setting says where CMDB is.
func NoCMDB() diag.Diagnostic {
	return diag.NewErrorDiagnostic(SummaryInvalidProvider,
		"The provider's endpoint is an API gateway, and its URL does not contain bk-gse exactly once, so the URL of CMDB's gateway cannot be derived from it. Set cmdb_endpoint to the URL of "+
			"CMDB's gateway, such as https://bkapi.example.com/api/bk-cmdb/prod.")
}

// advice returns what a user can do about a failed call.
func advice(e *bkapi.Error) string {
	if job.IsRemoved(e) {
		return "JOB has no process APIs as of release 3.7. If this one is older, check job_endpoint and job_api; otherwise use the objects that " +
			"call GSE directly: bk_hosted_process, bk_process_operation and bk_process_status. `terraform state rm` removes from state what can no longer be read."
	}
	if cmdb.IsNoPermission(e) {
		return "CMDB has not granted this. Apply for the API " + e.API + " for the application (app_code), in " +
			map[bkapi.Gateway]string{bkapi.ESB: "the ESB's system CC", bkapi.APIGW: "the API gateway bk-cmdb"}[e.Gateway] +
			", and in the permission center for access to the business in CMDB for the application or the user."
	}
	if e.Stranger && e.Sent {
		return strangerAdvice(e)
	}
	switch e.Kind {
	case bkapi.KindConnect:
		return "Check that the provider's " + e.Setting + " is correct and can be reached from this machine, and that HTTPS_PROXY is set if a proxy is needed."
	case bkapi.KindTLS:
		return trustAdvice(e)
	case bkapi.KindRedirect:
		return "If that is the address of the platform, set the provider's " + e.Setting + " to it: redirects are not followed, so that credentials go nowhere else."
	case bkapi.KindFormat:
		return "Something other than the API answered, often a login page or a proxy. Check the provider's " + e.Setting + " and gateway."
	case bkapi.KindRefused:
		switch {
		case e.TurnedAway():
			return tooBusy
		case bkapi.IsTransient(e), bkapi.IsOutcomeUnknown(e):
			return inTrouble
		}
		return "The message is the platform's own. If it is about the application, check app_code and app_secret, and that the application may call " +
			e.API + "; otherwise ask the platform's administrators and quote the request id."
	case bkapi.KindLost:
		return inTrouble
	case bkapi.KindCanceled:
		return "If time ran out, raise the timeouts of this object."
	case bkapi.KindStatus:
		return statusAdvice(e)
	default: // a request that cannot be built is a bug
		return ReportBug
	}
}

// trustAdvice returns advice about a server's certificate or its TLS.
func trustAdvice(e *bkapi.Error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(e, new(tls.RecordHeaderError)):
		return "The server at this address does not speak TLS. Check the scheme and the port of the provider's " + e.Setting + "."
	case errors.As(e, &unknown):
		return "If the platform's certificate was issued by a private authority, set ca_cert_file to that authority's certificate."
	case errors.As(e, &name):
		return "The certificate is for another host name. Use a name in the provider's " + e.Setting + " that the certificate is valid for."
	case errors.As(e, &invalid) && invalid.Reason == x509.Expired:
		return "The platform's certificate has expired or is not valid yet. Check this machine's clock, or have the certificate renewed."
	case errors.As(e, &invalid):
		return "The platform's certificate is not valid for this purpose. Ask its administrators for another one."
	default:
		return "The provider requires TLS 1.2 or later. Check that the scheme and the port of its " + e.Setting + " are those of a server that supports it."
	}
}

// strangerAdvice returns advice about an endpoint where something other than the platform answers.
func strangerAdvice(e *bkapi.Error) string {
	stage := "bk-gse"
	if e.Setting == "cmdb_endpoint" {
		stage = "bk-cmdb"
	}
	text := fmt.Sprintf("Check the provider's %s and gateway, which is %s now. The endpoint of the ESB is its base URL, such as https://paas.example.com; "+
		"that of the API gateway is the URL of a stage, such as https://bkapi.example.com/api/%s/prod. ", e.Setting, e.Gateway, stage)
	if e.Kind == bkapi.KindRedirect {
		return text + "If the redirect leads to the platform, set " + e.Setting + " to that address: redirects are not followed, so that credentials go nowhere else."
	}
	return text + "If both are right, a login page or a proxy is in between."
}

// statusAdvice returns advice by HTTP status.
func statusAdvice(e *bkapi.Error) string {
	switch bkapi.DenialOf(e) {
	case bkapi.DeniedApp:
		return "The gateway does not accept the application. Check app_code and app_secret."
	case bkapi.DeniedUser:
		return "The gateway accepts the application but not the user. Check username, token or access_token, whichever is set; a token may have expired."
	case bkapi.DeniedIdentity:
		return "The platform does not accept the credentials. Check app_code and app_secret, and then the user."
	case bkapi.DeniedPermission:
		return "The platform knows the application but does not let it call " + e.API + ". Each API is granted separately: " +
			"check that the application may call this one, or ask the platform's administrators to grant it."
	case bkapi.NotDenied:
	}
	switch e.Status {
	case 400: // the gateway returns 400 for an application that it does not know
		return "Check app_code, app_secret and the user, and that the application may call " + e.API + ": the platform grants each API separately."
	case 404, 405:
		if e.Code != 0 && !e.ByGateway() {
			return "The platform answers at this address, and does not have what was asked for. A task counts as forgotten after thirty such answers in a row: " +
				"apply again, and raise the timeouts of this object if they ended the wait before that."
		}
		return fmt.Sprintf("The API %s was not found at this address of the %s. Check the provider's %s, and whether gateway should be esb or apigw; it is %s now.",
			e.API, map[bkapi.Gateway]string{bkapi.ESB: "ESB", bkapi.APIGW: "API gateway"}[e.Gateway], e.Setting, e.Gateway)
	case 413:
		return "Lower max_hosts_per_request."
	case 429:
		return tooBusy
	}
	return inTrouble
}

// NotReady returns the error for a call while settings of the provider block are unknown, because they depend
// on resources that are not applied yet.
func NotReady(unknown []string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summaryNotConfigured,
		"The platform has to be called now, but these settings of the provider block are not known until apply: "+
			strings.Join(unknown, ", ")+".\n\nMake this object depend on the resources that they come from (depends_on), apply those first (with -target), or set known values.")
}

// NotEvaluated returns the error for a call that is made before the provider is configured.
func NotEvaluated() diag.Diagnostic {
	return diag.NewErrorDiagnostic(summaryNotConfigured, "The provider block was not evaluated. "+ReportBug)
}

// NotRefreshed returns NotReady as a warning, for a refresh, which can be skipped.
func NotRefreshed(unknown []string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Not Refreshed",
		"The platform was not asked, because these settings of the provider block are not known until apply: "+
			strings.Join(unknown, ", ")+". The plan is based on what is in state.")
}

// Bug returns the error for something that only a bug in the provider can cause.
func Bug(err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic(SummaryBug, Sentence(err.Error())+" "+ReportBug)
}

// Sentence gives text, such as that of an error, a capital letter and a full stop. It also makes text
// printable, because errors may quote names that users of the platform chose.
func Sentence(text string) string {
	text = strings.TrimSpace(bkapi.Printable(text))
	if text == "" {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}

// WithoutStop removes a final full stop, for errors of functions: Terraform adds its own.
func WithoutStop(text string) string { return strings.TrimSuffix(text, ".") }

// ProcessTitle returns the beginning of a sentence about a process.
func ProcessTitle(namespace, name string) string {
	return fmt.Sprintf("Process %q in namespace %q", name, namespace)
}
