package bkapi

// Codes of the ESB itself, as opposed to those of the systems behind it. It
// answers HTTP 200 whatever happens, so that these say what a gateway would say
// with a status. Source: paas2/esb/common/errors.py and paas2/esb/esb/outgoing.py
// of TencentBlueKing/legacy-bk-paas.
const (
	// esbBackendError stands for any trouble with the backend: a connection that
	// was refused, a timeout, a status other than 200.
	esbBackendError = 1306201
	// esbBackendFormat says that the backend's answer made no sense to the ESB.
	esbBackendFormat = 1306208
	// esbRateLimit says that the request was not passed on.
	esbRateLimit = 1306429
)

// esbTrouble reports whether a code of the ESB means a 502 or a 504: the backend may have acted,
// and may answer next time.
func esbTrouble(code int64) bool {
	return code == esbBackendError || code == esbBackendFormat
}
