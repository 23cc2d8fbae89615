package job

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// codeGSEError is the only code that JOB has for errors of GSE, from a refusal to a late answer.
const codeGSEError = 1210001

// Codes with which the ESB reports that something is missing. Source: paas2/esb/common/errors.py and
// paas2/esb/esb/outgoing.py of TencentBlueKing/legacy-bk-paas.
const (
	esbNoComponent  = 1306404
	esbNoChannel    = 1306405
	esbBackendError = 1306201
	// esbBackendMissing is the ESB's text for a backend's 404, in the message of an esbBackendError.
	esbBackendMissing = "Status Code: 404"
)

// IsRemoved reports whether err shows that the platform lacks the endpoint, as JOB does from release 3.7 on.
// Only the GSE objects work there. A wrong job_api or job_endpoint has the same effect.
func IsRemoved(err error) bool {
	var failure *bkapi.Error
	if !errors.As(err, &failure) || !slices.Contains([]string{apiManage, apiOperate, apiResult}, failure.API) {
		return false
	}
	switch failure.Code {
	case esbNoComponent, esbNoChannel:
		return true
	case esbBackendError:
		return strings.Contains(failure.Message, esbBackendMissing)
	}
	return failure.Kind == bkapi.KindStatus && failure.Status == http.StatusNotFound
}

// Meanings of outcomes that have no code of GSE.
const (
	meaningRemoved = "this platform's JOB does not have the process API"
	meaningUnsure  = "JOB had trouble with GSE and does not say whether the operation began"
	meaningNoAgent = "JOB knows hosts by bk_cloud_id and IP, and not by agent id"
)

// correctVerdict corrects the verdict on a failed request from what only JOB's errors show. If the endpoint is
// missing, no operation began, whatever the ESB reports. If GSE failed, the operation may have begun.
func correctVerdict(o fleet.Outcome, repeatable bool) fleet.Outcome {
	switch {
	case o.Err == nil || o.TaskID != "": // it was accepted
	case IsRemoved(o.Err):
		o.Verdict, o.Meaning = fleet.Failed, meaningRemoved
	case bkapi.HasCode(o.Err, codeGSEError) && !repeatable:
		o.Verdict, o.Meaning = fleet.Lost, meaningUnsure
	}
	return o
}
