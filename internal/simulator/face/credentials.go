package face

import (
	"cmp"
	"crypto/subtle"
	"maps"
	"net/http"

	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

var credentialFields = map[string]field{
	"bk_app_code":   optional(textShape),
	"bk_app_secret": optional(textShape),
	"bk_username":   optional(textShape),
	"bk_token":      optional(textShape),
	"bk_ticket":     optional(textShape),
	"access_token":  optional(textShape),
}

// The application that the zero value of [Credentials] accepts.
const (
	DefaultAppCode   = "bk_test"
	DefaultAppSecret = "s3cret"
)

// Credentials are the only valid ones. An empty application means the default one. For an empty identity
// of a user, any value is valid.
type Credentials struct {
	AppCode, AppSecret           string
	Username, Token, AccessToken string
}

func (c Credentials) app() (code, secret string) {
	return cmp.Or(c.AppCode, DefaultAppCode), cmp.Or(c.AppSecret, DefaultAppSecret)
}

// Secret reports whether the application's secret differs from the published default.
func (c Credentials) Secret() bool { _, secret := c.app(); return secret != DefaultAppSecret }

// Admit reports whether these are the application's credentials.
func (c Credentials) Admit(code, secret string) bool {
	wantCode, wantSecret := c.app()
	return equalSecrets(code, wantCode) && equalSecrets(secret, wantSecret)
}

// equalSecrets takes the same time, wherever two texts differ.
func equalSecrets(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// credentialFault is an error in credentials. Each platform has its own text for it.
type credentialFault int

const (
	credentialsGood credentialFault = iota
	noAppCode
	noAppSecret
	unknownApp
	wrongSecret
	wrongUser
	noUser
)

// check checks the members of a body or of a header, in the ESB's order. If one user identity is wrong,
// name is its member. As user identity, bk_username is sufficient, as it is for applications that the platform's
// administrators have listed.
func (c Credentials) check(members map[string]any) (fault credentialFault, name string) {
	wantCode, wantSecret := c.app()
	if token := jsontree.String(members["access_token"]); token != "" && members["bk_app_code"] == nil && members["bk_app_secret"] == nil {
		// The token was issued to an application, so it identifies the application.
		if c.AccessToken != "" && !equalSecrets(token, c.AccessToken) {
			return wrongUser, "access_token"
		}
		return credentialsGood, ""
	}
	switch code, secret := jsontree.String(members["bk_app_code"]), jsontree.String(members["bk_app_secret"]); {
	case code == "":
		return noAppCode, ""
	case secret == "":
		return noAppSecret, ""
	case code != wantCode:
		return unknownApp, ""
	case !equalSecrets(secret, wantSecret):
		return wrongSecret, ""
	}
	fault = noUser
	for _, user := range []struct{ name, want string }{
		{"access_token", c.AccessToken}, {"bk_token", c.Token}, {"bk_ticket", ""}, {"bk_username", c.Username},
	} {
		value := jsontree.String(members[user.name])
		if value == "" {
			continue
		}
		if user.want != "" && !equalSecrets(value, user.want) {
			return wrongUser, user.name
		}
		fault = credentialsGood
	}
	return fault, ""
}

// olderSpellings are the older names of members that the ESB still reads.
var olderSpellings = map[string]string{"app_code": "bk_app_code", "app_secret": "bk_app_secret", "username": "bk_username"}

// esbCredentials returns the members that the ESB reads: from the gateway's header if there is one, and
// from the body.
func esbCredentials(header http.Header, body map[string]any) map[string]any {
	members := maps.Clone(body)
	for older, name := range olderSpellings {
		if _, given := body[name]; !given && body[older] != nil {
			members[name] = body[older]
		}
	}
	if tree, err := jsontree.Decode([]byte(header.Get(authorizationHeader))); err == nil {
		maps.Copy(members, jsontree.Object(tree))
	}
	return members
}

// refuseESB returns the ESB's answer to bad credentials, nil if they are valid.
func (f esbFace) refuseESB(body map[string]any) *Refusal {
	fault, name := f.check(body)
	code := jsontree.String(body["bk_app_code"])
	message := map[credentialFault]string{
		noAppCode:   "APP Code [bk_app_code] cannot be empty",
		noAppSecret: "APP Secret [bk_app_secret] cannot be empty",
		unknownApp:  "Invalid APP Code [bk_app_code=" + code + "], it is not registered",
		wrongSecret: "APP Secret verification failed for APP Code [bk_app_code=" + code + "]",
		wrongUser:   "User authentication failed, " + name + " is not valid",
		noUser:      "User authentication failed, a user identity such as bk_token or bk_username must be given",
	}[fault]
	if message == "" {
		return nil
	}
	return &Refusal{Status: http.StatusOK, Code: CodeSystemError, Message: message}
}

// refuseGateway returns the gateway's answer to bad credentials, nil if they are valid. The reasons are
// those of the open source gateway's bk-auth-verify.
func (f gatewayFace) refuseGateway(members map[string]any) *Refusal {
	fault, name := f.check(members)
	reason := map[credentialFault]string{
		noAppCode:   "app code cannot be empty",
		noAppSecret: "please provide bk_app_secret or bk_signature to verify app",
		unknownApp:  "app not found",
		wrongSecret: "bk_app_code or bk_app_secret is incorrect",
		wrongUser:   name + " is invalid",
		noUser:      "user authentication failed, please provide a valid user identity, such as bk_username, bk_token, access_token",
	}[fault]
	switch {
	case reason == "":
		return nil
	case f.UnverifiedStatus400:
		return invalidArgs(reason)
	case fault == wrongUser || fault == noUser:
		return gatewayRefusal(http.StatusUnauthorized, CodeUserUnverified, "USER_VERIFY_FAILED", "User authentication failed", reason)
	default:
		return gatewayRefusal(http.StatusUnauthorized, CodeAppUnverified, "APP_VERIFY_FAILED", "App authentication failed", reason)
	}
}
