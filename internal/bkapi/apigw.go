package bkapi

import (
	"errors"
	"net/http"
)

// Codes of the API gateway itself, which come with HTTP 401. Source:
// plugins/bk-core/errorx.lua of TencentBlueKing/blueking-apigateway-apisix. Older
// gateways may have others, so the status says what the codes make more precise.
const (
	apigwAppUnverified  = 1640101
	apigwUserUnverified = 1640102
)

// Denial is whom a gateway turned away, and so what has to be corrected.
type Denial string

// Whom a gateway turns away.
const (
	NotDenied        Denial = ""
	DeniedApp        Denial = "application" // it does not know the application, or its secret is wrong
	DeniedUser       Denial = "user"
	DeniedIdentity   Denial = "identity"   // one of the two, and it does not say which
	DeniedPermission Denial = "permission" // it knows both, and the application may not call this API
)

// DenialOf tells whether a call failed because of whom it was made as: the platform has
// done nothing, and does nothing before that is corrected.
func DenialOf(err error) Denial {
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindStatus || e.Stranger {
		return NotDenied
	}
	switch {
	case e.Status == http.StatusForbidden:
		return DeniedPermission
	case e.Status != http.StatusUnauthorized:
		return NotDenied
	case e.Code == apigwAppUnverified:
		return DeniedApp
	case e.Code == apigwUserUnverified:
		return DeniedUser
	}

	return DeniedIdentity
}
