package main

import (
	"cmp"
	"fmt"
	neturl "net/url"
	"regexp"
	"strings"
)

// greeting says where the simulator is, how Terraform reaches it, and where its help is. It omits a secret
// that was read from a file.
func (o *options) greeting(url string) string {
	secret := shellWord(o.appSecret)
	if o.secretFile != "" {
		secret = `"$(cat ` + shellWord(o.secretFile) + `)"`
	}
	export := fmt.Sprintf("export BK_ENDPOINT=%s BK_APP_CODE=%s BK_APP_SECRET=%s BK_USERNAME=%s",
		url, shellWord(o.appCode), secret, shellWord(cmp.Or(o.username, "admin")))
	if o.tenant != "" {
		export += " BK_TENANT_ID=" + shellWord(o.tenant)
	}
	// The browser does not send what follows #, and the page removes it from the address.
	page := url + "/"
	if o.secretFile == "" {
		page += "#app_code=" + neturl.QueryEscape(o.appCode) + "&app_secret=" + neturl.QueryEscape(o.appSecret)
	}
	return fmt.Sprintf(`listening on %[1]s

%[2]s
%[4]s
Its page:      %[3]s
Its switches:  curl -u "$BK_APP_CODE:$BK_APP_SECRET" %[1]s/_sim/
Its flags:     bk-simulator -h, or make simulator SIMFLAGS=-h
`, url, export, page, apart(o.platform))
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord quotes a text that a shell would interpret.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
