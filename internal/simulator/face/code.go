package face

// Codes of a whole answer.
const (
	// CodeTaskQueued means that the task was accepted but has no result yet.
	CodeTaskQueued = 1000115
	// CodeSystemError is the ESB's catch-all, used for refused credentials too.
	CodeSystemError = 1306000
	// CodeAPINotFound is the ESB's answer to an unknown API name.
	CodeAPINotFound = 1306404
	// CodeArgumentError is the ESB's answer to a request it cannot read.
	CodeArgumentError = 1306406
)

// Codes of the gateway itself, sent with an HTTP status. They are from the open source gateway
// (TencentBlueKing/blueking-apigateway-apisix, plugins/bk-core/errorx.lua). Which of them bk-gse's
// edition uses is known with medium confidence.
const (
	// CodeInvalidArgs comes with 400.
	CodeInvalidArgs = 1640001
	// CodeAppUnverified and CodeUserUnverified come with 401.
	CodeAppUnverified  = 1640101
	CodeUserUnverified = 1640102
	// CodeCrossTenant comes with 403.
	CodeCrossTenant = 1640302
	// CodeGatewayAPINotFound comes with 404.
	CodeGatewayAPINotFound = 1640401
)

// CodeJobIllegalParameter is JOB's answer to an invalid request.
const CodeJobIllegalParameter = 1241002
