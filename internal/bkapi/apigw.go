package bkapi

import (
	"errors"
	"net/http"
)

// Codes of the API gateway itself, sent with HTTP 401. Source: plugins/bk-core/errorx.lua of
// TencentBlueKing/blueking-apigateway-apisix. Older gateways may have others, so an unknown code is
// judged by its status.
const (
	apigwAppUnverified  = 1640101
	apigwUserUnverified = 1640102
)

// apigwFirst and apigwLast are the range of the gateway's own codes, by the same source.
const apigwFirst, apigwLast = 1640000, 1659999

// ByGateway reports whether the code is the ESB's or the API gateway's own, and says nothing about what
// was asked for. The system behind it has not answered.
func (e *Error) ByGateway() bool {
	if e.Gateway == ESB {
		return e.Code >= esbFirst && e.Code <= esbLast
	}
	return e.Code >= apigwFirst && e.Code <= apigwLast
}

// Denial says which identity a gateway refused, and so what has to be corrected.
type Denial string

// The identities that a gateway refuses.
const (
	NotDenied        Denial = ""
	DeniedApp        Denial = "application" // the application is not known, or its secret is wrong
	DeniedUser       Denial = "user"
	DeniedIdentity   Denial = "identity"   // one of the two, and the gateway does not say which
	DeniedPermission Denial = "permission" // both are known, but the application may not call this API
)

// DenialOf reports whether the platform refused a call because of its identity. It has done nothing, and
// will do nothing until that is corrected.
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
