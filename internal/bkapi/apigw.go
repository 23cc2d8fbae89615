package bkapi

import (
	"errors"
	"net/http"
)

// Codes of the API gateway itself, which it sends with HTTP 401. Source: plugins/bk-core/errorx.lua of
// TencentBlueKing/blueking-apigateway-apisix. Older gateways may use other codes, so an unknown code is judged
// by its HTTP status.
const (
	apigwAppUnverified  = 1640101
	apigwUserUnverified = 1640102
)

// apigwFirst and apigwLast delimit the range of the gateway's own codes, by the same source.
const apigwFirst, apigwLast = 1640000, 1659999

// ByGateway reports whether the code is one of the ESB's or the API gateway's own. The system behind the
// gateway has not answered then, so the error says nothing about what was requested.
func (e *Error) ByGateway() bool {
	if e.Gateway == ESB {
		return e.Code >= esbFirst && e.Code <= esbLast
	}
	return e.Code >= apigwFirst && e.Code <= apigwLast
}

// Denial says which identity a gateway refused, and so what the user has to correct.
type Denial string

// The identities that a gateway refuses.
const (
	NotDenied        Denial = ""
	DeniedApp        Denial = "application" // the application is unknown, or its secret is wrong
	DeniedUser       Denial = "user"
	DeniedIdentity   Denial = "identity"   // one of the two, and the gateway does not say which
	DeniedPermission Denial = "permission" // both are known, but the application may not call this API
)

// DenialOf returns the identity for which the platform refused a call, or NotDenied. A refused call has done
// nothing, and another one will do nothing until the identity is corrected.
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
