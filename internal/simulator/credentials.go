package simulator

import "net/http"

var credentialFields = map[string]field{
	"bk_app_code":   optional(textShape),
	"bk_app_secret": optional(textShape),
	"bk_username":   optional(textShape),
	"bk_token":      optional(textShape),
	"access_token":  optional(textShape),
}

// credentialFault is what is wrong with credentials. Each platform has its own
// words for it.
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

// checkCredentials judges the members of a body or of a header, in the order in
// which the ESB does. Where one user identity is wrong, name is its member.
// bk_username is good enough, as for applications that the platform's
// administrators have put on a list; the simulator's one application is on it.
func (s *Server) checkCredentials(members map[string]any) (fault credentialFault, name string) {
	wantCode, wantSecret := s.AppCode, s.AppSecret
	if wantCode == "" {
		wantCode = DefaultAppCode
	}
	if wantSecret == "" {
		wantSecret = DefaultAppSecret
	}
	switch code, secret := stringOf(members["bk_app_code"]), stringOf(members["bk_app_secret"]); {
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
		{"access_token", s.AccessToken}, {"bk_token", s.Token}, {"bk_username", s.Username},
	} {
		value := stringOf(members[user.name])
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

// refuseESB is the ESB's answer to bad credentials, nil if they are good.
func (s *Server) refuseESB(body map[string]any) *refusal {
	fault, name := s.checkCredentials(body)
	code := stringOf(body["bk_app_code"])
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
	return &refusal{status: http.StatusOK, code: CodeSystemError, message: message}
}

// refuseGateway is the gateway's answer to bad credentials, nil if they are
// good. The reasons are those of the open source gateway's bk-auth-verify.
func (s *Server) refuseGateway(members map[string]any) *refusal {
	fault, name := s.checkCredentials(members)
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
	case s.UnverifiedStatus400:
		return invalidArgs(reason)
	case fault == wrongUser || fault == noUser:
		return gatewayRefusal(http.StatusUnauthorized, CodeUserUnverified, "USER_VERIFY_FAILED", "User authentication failed", reason)
	default:
		return gatewayRefusal(http.StatusUnauthorized, CodeAppUnverified, "APP_VERIFY_FAILED", "App authentication failed", reason)
	}
}
