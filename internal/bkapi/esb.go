package bkapi

// Codes of the ESB itself, as opposed to those of the systems behind it. The ESB always answers HTTP 200, so
// these codes stand for what other gateways report as an HTTP status. Source: paas2/esb/common/errors.py and
// paas2/esb/esb/outgoing.py of TencentBlueKing/legacy-bk-paas.
const (
	// esbBackendError means any failure of the backend: a refused connection, a timeout, a status other
	// than 200.
	esbBackendError = 1306201
	// esbBackendFormat means that the ESB could not read the backend's answer.
	esbBackendFormat = 1306208
	// esbRateLimit means that the request was not passed on.
	esbRateLimit = 1306429
)

// esbFirst and esbLast delimit the range of the ESB's own codes.
const esbFirst, esbLast = 1306000, 1306999

// esbTrouble reports whether a code of the ESB corresponds to a 502 or a 504. The backend may have acted, and
// may answer next time.
func esbTrouble(code int64) bool {
	return code == esbBackendError || code == esbBackendFormat
}
