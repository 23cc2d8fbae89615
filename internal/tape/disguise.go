package tape

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// wordList has the words of the platform's messages, which may stay in a text. All others are replaced.
//
//go:embed words.txt
var wordList string

var words = func() map[string]bool {
	kept := make(map[string]bool)
	for _, word := range strings.Fields(wordList) {
		kept[word] = true
	}
	for member := range kinds {
		kept[member] = true
	}
	return kept
}()

// kinds maps the fields of bodies, in lower case, to what they contain. The text of any other field is
// disguised word by word.
var kinds = func() map[string]string {
	byName := make(map[string]string)
	for kind, members := range map[string]string{
		"process":   "proc_name procname process_name processname bk_process_name bk_func_name process name value_key valuekey index_key",
		"namespace": "namespace",
		"user":      "user account proc_owner contact operator creator",
		"dir":       "setup_path setuppath pid_path pidpath log_path logpath config_path cfg_path path script_store_dir",
		"command":   "start_cmd stop_cmd restart_cmd reload_cmd kill_cmd version_cmd health_cmd startcmd stopcmd restartcmd reloadcmd killcmd versioncmd healthcmd command cmdline cmd_shell_ext script_content script_param screen log_content",
		"task":      "task_id bk_gse_taskid gsetaskid",
		"request":   "request_id bk_request_id esb_request_id",
		"host":      "bk_host_name hostname bk_agent_id agent_id agent_id_list ip ip_list bk_host_ip",
		"label":     "labels",
		"kept":      "pid bk_cloud_id cloud_id plat_id bk_supplier_id bk_supplier_account atomic_task_id atomic_task_id_idx",
		"member": "result code message data error_code error_msg content meta hosts host spec identity control resource monitor_policy alive_monitor_policy " +
			"op_type status version isauto proc_infos page start limit count value procname setuppath errorcode errormessage permission proc_operate_req " +
			"bk_error_code bk_error_msg cpu mem auto_type op_timeout start_check_secs stop_check_secs start_retries start_interval type flag configmap",
	} {
		for member := range strings.FieldsSeq(members) {
			if byName[member] == "" || kind != "member" {
				byName[member] = kind
			}
		}
	}
	return byName
}()

// keptKeys are the labels that the provider and the platform add themselves.
var keptKeys = []string{"proc_name", "tf_spec", "tf_owner"}

// credentials are the fields that identify an application and its user.
var credentials = []string{"bk_app_code", "bk_app_secret", "bk_username", "bk_token", "bk_ticket", "access_token", "bk_nonce", "bk_signature", "operator_token"}

var secretMember = regexp.MustCompile(`(?i)secret|token|passw|pwd|ticket|credential|authorization|cookie|signature|private_?key|access_?key|api_?key`)

const dropped = "***"

// disguise replaces what identifies a platform. A value has the same pseudonym on the whole tape.
type disguise struct {
	known   map[string]string
	counts  map[string]int
	four    netip.Addr
	six     netip.Addr
	secrets []string
	redact  func(string) string
}

func newDisguise(secrets ...string) *disguise {
	d := &disguise{
		known: make(map[string]string), counts: make(map[string]int),
		// These are reserved for benchmarks and documentation, so no platform has a host there.
		four: netip.MustParseAddr("198.18.0.0"), six: netip.MustParseAddr("2001:db8::"),
		redact: func(text string) string { return text },
	}
	d.learn(secrets...)
	return d
}

// learn adds secrets, which are then removed from all texts.
func (d *disguise) learn(secrets ...string) {
	before := len(d.secrets)
	for _, s := range secrets {
		if s != "" && !slices.Contains(d.secrets, s) {
			d.secrets = append(d.secrets, s)
		}
	}
	if len(d.secrets) > before {
		d.redact = bkapi.NewRedactor(d.secrets...)
	}
}

// learnFrom learns the secrets of a body. Call it before any part of the body is kept.
func (d *disguise) learnFrom(in any) {
	switch in := in.(type) {
	case map[string]any:
		for member, value := range in {
			if text, ok := value.(string); ok && isSecret(member) {
				d.learn(text)
			}
			d.learnFrom(value)
		}
	case []any:
		for _, item := range in {
			d.learnFrom(item)
		}
	case string:
		if inner, ok := container(in); ok {
			d.learnFrom(inner)
		}
	}
}

func isSecret(member string) bool { return secretMember.MatchString(member) }

// decode decodes one JSON document, and keeps the spelling of its numbers.
func decode(text string) (any, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil, false
	}
	_, err := dec.Token()
	return value, err == io.EOF
}

// container decodes a string that contains a JSON object or array.
func container(text string) (any, bool) {
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return nil, false
	}
	return decode(text)
}

// value returns the JSON value of a field, disguised.
func (d *disguise) value(member string, in any) any {
	switch in := in.(type) {
	case map[string]any:
		return d.object(member, in)
	case []any:
		out := make([]any, 0, len(in))
		for _, item := range in {
			out = append(out, d.value(member, item))
		}
		return out
	case string:
		return d.str(member, in)
	case json.Number:
		return d.number(member, in)
	}
	return in
}

func (d *disguise) object(member string, in map[string]any) map[string]any {
	out := make(map[string]any, len(in))
	for _, key := range sortedKeys(in) {
		value := in[key]
		switch {
		case isSecret(key) || slices.Contains(credentials, key):
			if text, ok := value.(string); !ok || text != "" {
				value = dropped
			}
			out[d.key(key)] = value
		case kinds[strings.ToLower(member)] == "label":
			out[d.label(key)] = d.value("labels", value)
		default:
			out[d.key(key)] = d.value(key, value)
		}
	}
	return out
}

func (d *disguise) label(key string) string {
	if slices.Contains(keptKeys, key) {
		return key
	}
	return d.name("label", key)
}

// str returns the text of a field, disguised.
func (d *disguise) str(member, text string) string {
	if inner, ok := container(text); ok {
		clean, err := line(d.value(member, inner))
		if err == nil {
			return strings.TrimSpace(string(clean))
		}
	}
	text = d.redact(text)
	member = strings.ToLower(member)
	switch kind := kinds[member]; {
	case text == "":
		return ""
	case kind == "command", kind == "task", kind == "request":
		return d.replace(kind, text)
	case kind == "host":
		return d.keyed(text)
	case kind == "kept", kind == "member", kind == "":
		if isDigits(text) {
			return string(d.number(member, json.Number(text)))
		}
		return d.text(text)
	default:
		return d.name(kind, text)
	}
}

// number keeps codes, counts and times. It replaces ids, and numbers too long for a code.
func (d *disguise) number(member string, n json.Number) json.Number {
	member = strings.ToLower(member)
	switch {
	case strings.ContainsAny(n.String(), ".eE"):
		f, err := n.Float64()
		if err != nil {
			return "0"
		}
		return json.Number(strconv.FormatFloat(f, 'f', 2, 64))
	case isID(member):
		return json.Number(d.id(n.String()))
	case strings.Contains(member, "time") && len(n) <= len("1234567890123"), len(n) <= maxDigits:
		return n
	}
	return json.Number(d.id(n.String()))
}

// maxDigits is the length of the platform's longest codes. In a text, a number with fewer than minDigits is
// more likely a code or a cloud area than an id.
const maxDigits, minDigits = 7, 4

func isID(member string) bool {
	return kinds[member] != "kept" && (strings.HasSuffix(member, "id") || strings.HasSuffix(member, "ids"))
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// firstID precedes the ids that replace others.
const firstID = 1000

// id returns the pseudonym of an id. 0 and -1 are kept, because they are not ids.
func (d *disguise) id(n string) string {
	if n == "0" || n == "-1" {
		return n
	}
	if d.known["#"+n] == "" {
		d.counts["#"]++
		d.known["#"+n] = strconv.Itoa(firstID + d.counts["#"])
	}
	return d.known["#"+n]
}

// replace returns the pseudonym of a value.
func (d *disguise) replace(kind, value string) string {
	if pseudonym := d.known[value]; pseudonym != "" {
		return pseudonym
	}
	d.counts[kind]++
	d.known[value] = kind + strconv.Itoa(d.counts[kind])
	return d.known[value]
}

// plainName matches field names that may stay.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,48}$`)

// key returns the name of a field unchanged, and disguises the key of a map.
func (d *disguise) key(key string) string {
	_, taken := d.known[key]
	if kinds[strings.ToLower(key)] != "" || plainName.MatchString(key) && !taken && !isAgent(key) && d.redact(key) == key {
		return key
	}
	return d.keyed(d.redact(key))
}

var cloud = regexp.MustCompile(`^(?:\d{1,7}:){1,2}`)

// keyed disguises a text that begins with a host: cloud:supplier:ip:namespace:name, or an agent id.
func (d *disguise) keyed(text string) string {
	prefix := cloud.FindString(text)
	for _, before := range []string{prefix, ""} {
		rest := text[len(before):]
		for _, end := range ends(rest) {
			if addr, err := netip.ParseAddr(rest[:end]); err == nil {
				return before + d.address(addr) + d.name("process", rest[end:])
			}
		}
	}
	return d.name("process", text)
}

// ends returns where the address in a key may end, the last place first, because an IPv6 address contains
// colons.
func ends(text string) []int {
	found := []int{len(text)}
	for i := len(text) - 1; i > 0; i-- {
		if text[i] == ':' {
			found = append(found, i)
		}
	}
	return found
}

// name replaces each part of a name, a path or a key.
func (d *disguise) name(kind, text string) string {
	if addr, err := netip.ParseAddr(text); err == nil {
		return d.address(addr)
	}
	return nameParts.ReplaceAllStringFunc(text, func(part string) string {
		switch addr, err := netip.ParseAddr(part); {
		case err == nil:
			return d.address(addr)
		case isAgent(part):
			return d.agent(part)
		case part == "." || part == ".." || part == "root" || part == dropped:
			return part
		}
		return d.replace(kind, part)
	})
}

var nameParts = regexp.MustCompile(`[^:/\\]+`)

// address returns the pseudonym of an address, which is of the same family.
func (d *disguise) address(addr netip.Addr) string {
	original := addr.WithZone("").String()
	if d.known[original] == "" {
		next := &d.six
		if addr.Is4() {
			next = &d.four
		}
		*next = next.Next()
		d.known[original] = next.String()
	}
	return d.known[original]
}

var agentID = regexp.MustCompile(`^[0-9a-fA-F][0-9a-fA-F-]{14,62}[0-9a-fA-F]$`)

func isAgent(text string) bool { return agentID.MatchString(text) }

// agent returns an id of the same length, with digits, letters and dashes in the same places.
func (d *disguise) agent(id string) string {
	if d.known[id] != "" {
		return d.known[id]
	}
	d.counts["agent"]++
	left, fake := d.counts["agent"], []byte(id)
	for i := len(fake) - 1; i >= 0; i-- {
		first, letters := byte('0'), 10
		switch c := rune(fake[i]); {
		case c == '-':
			continue
		case unicode.IsUpper(c):
			first, letters = 'A', 6
		case unicode.IsLower(c):
			first, letters = 'a', 6
		}
		fake[i] = first + byte(left%letters)
		left /= letters
	}
	d.known[id] = string(fake)
	return d.known[id]
}

var (
	// token matches a word, or what may be an address with colons.
	token     = regexp.MustCompile(`[0-9A-Fa-f]*:[0-9A-Fa-f:.]+|[\p{L}\p{M}\p{N}_.@+=-]+`)
	word      = regexp.MustCompile(`[\p{L}\p{M}\p{N}_.@+=-]+`)
	keptWord  = regexp.MustCompile(`^(?:\d{1,7}|v?\d{1,4}(?:\.\d{1,4}){1,2}|\d{4}-\d\d-\d\d(?:T\d\d)?)$`)
	lastMarks = ".-=+"
)

// text replaces the words that are not the platform's.
func (d *disguise) text(text string) string {
	if pseudonym := d.known[text]; pseudonym != "" {
		return pseudonym
	}
	return token.ReplaceAllStringFunc(text, func(found string) string {
		if addr, err := netip.ParseAddr(found); err == nil {
			return d.address(addr)
		}
		return word.ReplaceAllStringFunc(found, d.word)
	})
}

func (d *disguise) word(found string) string {
	part := strings.TrimRight(found, lastMarks)
	marks := found[len(part):]
	addr, err := netip.ParseAddr(part)
	switch {
	case part == "":
		return found
	case d.known[part] != "":
		return d.known[part] + marks
	case len(part) >= minDigits && d.known["#"+part] != "":
		return d.known["#"+part] + marks
	case err == nil:
		return d.address(addr) + marks
	case isAgent(part):
		return d.agent(part) + marks
	case keptWord.MatchString(part), words[strings.ToLower(part)]:
		return found
	}
	return d.replace("word", part) + marks
}

// anchors begin the platform's part of a path. What precedes it depends on the site.
var anchors = []string{"/api/c/compapi/", "/api/bk-", "/api/v"}

var segment = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,48}$`)

// path keeps the segments that name APIs, and replaces ids and all others.
func (d *disguise) path(path string) string {
	known := false
	for _, anchor := range anchors {
		if i := strings.Index(path, anchor); i >= 0 {
			path, known = path[i:], true
			break
		}
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		switch {
		case part == "" || known && d.isSegment(part):
		case isDigits(part):
			parts[i] = d.id(part)
		default:
			parts[i] = d.text(d.redact(part))
		}
	}
	return strings.Join(parts, "/")
}

// isSegment reports whether a segment of a path names an API or leads to one. A word of it must not have a
// pseudonym, unless it is also one of the platform's words.
func (d *disguise) isSegment(part string) bool {
	if !segment.MatchString(part) || isAgent(part) || d.redact(part) != part {
		return false
	}
	for _, word := range strings.FieldsFunc(part, func(r rune) bool { return r == '_' || r == '-' }) {
		if d.known[part] != "" && !words[word] {
			return false
		}
	}
	return true
}
