package provider_test

// settingRow is a setting of the provider block, and its effect. Each value is unique, and the test observes it where the platform would.
type settingRow struct {
	setting string
	with    map[string]any // other settings
	seen    func(*settingScene) string
	// value is the attribute's value, and want its effect. byDefault is the effect without a value, if it is checked.
	value     any
	want      string
	byDefault string
	// env is the variable, envValue a value with another effect, envWant.
	env, envValue, envWant string
	// fits are further valid values.
	fits []any
}

type badSetting struct {
	of    string // the row
	value any
	env   string
	with  map[string]any
	want  string // the attribute (none if it may be secret), the summary and the detail
}

const (
	esbPath   = "/api/c/compapi/v2/gse/get_proc_status_v2/ with credentials in the body"
	apigwPath = "/api/v2/proc/get_proc_status_v2 with credentials in the header"
)

var settingRows = map[string]settingRow{
	"endpoint": {
		setting: "endpoint", seen: (*settingScene).platform,
		value: "{there}", want: "there", env: "BK_ENDPOINT", envValue: "{elsewhere}", envWant: "elsewhere",
		fits: []any{"{there}/", "{there}/path/"},
	},
	"gateway-apigw": {
		setting: "gateway", seen: (*settingScene).entry, byDefault: esbPath,
		value: "apigw", want: apigwPath, env: "BK_GATEWAY", envValue: "esb", envWant: esbPath,
	},
	"gateway-esb": {
		setting: "gateway", seen: (*settingScene).entry,
		value: "esb", want: esbPath, env: "BK_GATEWAY", envValue: "apigw", envWant: apigwPath,
	},
	"job_endpoint": {
		setting: "job_endpoint", seen: (*settingScene).jobCall, byDefault: "here/api/c/compapi/v2/jobv3/operate_process/",
		value: "{there}/", want: "there/api/c/compapi/v2/jobv3/operate_process/",
		env: "BK_JOB_ENDPOINT", envValue: "{elsewhere}/", envWant: "elsewhere/api/c/compapi/v2/jobv3/operate_process/",
	},
	"job_endpoint-beside-a-gateway": {
		setting: "job_endpoint", seen: (*settingScene).jobCall, with: map[string]any{"gateway": "apigw"},
		value: "{there}", want: "there/api/c/compapi/v2/jobv3/operate_process/",
	},
	"verify": {
		setting: "verify", seen: (*settingScene).scripts, with: map[string]any{"gateway": "apigw"}, byDefault: "0",
		value: "agent", want: "1", env: "BK_VERIFY", envValue: "agent", envWant: "1", fits: []any{"labels"},
	},
	"hosted_specs.path": {
		setting: "hosted_specs.path", seen: (*settingScene).script, with: map[string]any{"gateway": "apigw"}, byDefault: "gateway /usr/local/gse2_bkte/agent/etc/.proc root",
		value: "/usr/local/gse2_cloud/agent/etc/.proc", want: "gateway /usr/local/gse2_cloud/agent/etc/.proc root",
		env: "BK_HOSTED_SPECS_PATH", envValue: "/usr/local/gse/proxy/etc/.proc", envWant: "gateway /usr/local/gse/proxy/etc/.proc root",
	},
	"hosted_specs.windows_path": {
		setting: "hosted_specs.windows_path", seen: (*settingScene).windowsScript, with: map[string]any{"gateway": "apigw"}, byDefault: `gateway c:\gse2_bkte\agent\etc\.proc Administrator`,
		value: `d:\gse\agent\etc\.proc`, want: `gateway d:\gse\agent\etc\.proc Administrator`, env: "BK_HOSTED_SPECS_WINDOWS_PATH", envValue: "e:/gse/.proc", envWant: "gateway e:/gse/.proc Administrator",
	},
	"hosted_specs.account": {
		setting: "hosted_specs.account", seen: (*settingScene).script, with: map[string]any{"gateway": "apigw"}, byDefault: "gateway /usr/local/gse2_bkte/agent/etc/.proc root",
		value: "gse", want: "gateway /usr/local/gse2_bkte/agent/etc/.proc gse", env: "BK_HOSTED_SPECS_ACCOUNT", envValue: "user00", envWant: "gateway /usr/local/gse2_bkte/agent/etc/.proc user00",
	},
	"hosted_specs.windows_account": {
		setting: "hosted_specs.windows_account", seen: (*settingScene).windowsScript, with: map[string]any{"gateway": "apigw"}, byDefault: `gateway c:\gse2_bkte\agent\etc\.proc Administrator`,
		value: "system", want: `gateway c:\gse2_bkte\agent\etc\.proc system`, env: "BK_HOSTED_SPECS_WINDOWS_ACCOUNT", envValue: `CORP\gse`, envWant: `gateway c:\gse2_bkte\agent\etc\.proc CORP\gse`,
	},
	"hosted_specs.via": {
		setting: "hosted_specs.via", seen: (*settingScene).script,
		with: map[string]any{"gateway": "apigw", "job_endpoint": "{there}", "hosted_specs.job_scope.id": "3"}, fits: []any{"gateway"},
		value: "job", want: "JOB /usr/local/gse2_bkte/agent/etc/.proc root biz:3", byDefault: "gateway /usr/local/gse2_bkte/agent/etc/.proc root",
		env: "BK_HOSTED_SPECS_VIA", envValue: "gateway", envWant: "gateway /usr/local/gse2_bkte/agent/etc/.proc root",
	},
	"hosted_specs.job_scope.id": {
		setting: "hosted_specs.job_scope.id", seen: (*settingScene).script,
		value: "4", want: "JOB /usr/local/gse2_bkte/agent/etc/.proc root biz:4", env: "BK_HOSTED_SPECS_JOB_SCOPE_ID", envValue: "5", envWant: "JOB /usr/local/gse2_bkte/agent/etc/.proc root biz:5",
	},
	"hosted_specs.job_scope.type": {
		setting: "hosted_specs.job_scope.type", seen: (*settingScene).script, with: map[string]any{"hosted_specs.job_scope.id": "3"}, byDefault: "JOB /usr/local/gse2_bkte/agent/etc/.proc root biz:3",
		value: "biz_set", want: "JOB /usr/local/gse2_bkte/agent/etc/.proc root biz_set:3", env: "BK_HOSTED_SPECS_JOB_SCOPE_TYPE", envValue: "biz", envWant: "JOB /usr/local/gse2_bkte/agent/etc/.proc root biz:3",
	},
	"cmdb_endpoint": {
		setting: "cmdb_endpoint", seen: (*settingScene).cmdbCall, byDefault: "here/api/c/compapi/v2/cc/search_biz_inst_topo/",
		value: "{there}/", want: "there/api/c/compapi/v2/cc/search_biz_inst_topo/",
		env: "BK_CMDB_ENDPOINT", envValue: "{elsewhere}/", envWant: "elsewhere/api/c/compapi/v2/cc/search_biz_inst_topo/",
	},
	"cmdb_endpoint-beside-a-gateway": {
		setting: "cmdb_endpoint", seen: (*settingScene).cmdbCall, with: map[string]any{"gateway": "apigw", "endpoint": "{here}/api/bk-gse/stage/"},
		byDefault: "here/api/bk-cmdb/stage/api/v3/find/topoinst/biz/2", value: "{there}/cmdb", want: "there/cmdb/api/v3/find/topoinst/biz/2",
	},
	"job_api-job": {
		setting: "job_api", seen: (*settingScene).jobCall, byDefault: "here/api/c/compapi/v2/jobv3/operate_process/", fits: []any{"jobv3"},
		value: "job", want: "here/api/c/compapi/v2/job/operate_process/", env: "BK_JOB_API", envValue: "jobv3", envWant: "here/api/c/compapi/v2/jobv3/operate_process/",
	},
	"app_code": {
		setting: "app_code", seen: members("bk_app_code"),
		value: "our-code", want: "bk_app_code=our-code", env: "BK_APP_CODE", envValue: "code-of-env", envWant: "bk_app_code=code-of-env",
	},
	"app_secret": {
		setting: "app_secret", seen: members("bk_app_secret"),
		value: "our-secret", want: "bk_app_secret=our-secret", env: "BK_APP_SECRET", envValue: "secret-of-env", envWant: "bk_app_secret=secret-of-env",
	},
	"username": {
		setting: "username", seen: members("bk_username", "bk_token", "access_token"),
		value: "our-user", want: "bk_username=our-user", env: "BK_USERNAME", envValue: "user-of-env", envWant: "bk_username=user-of-env",
	},
	"token": {
		setting: "token", seen: members("bk_username", "bk_token", "access_token"), with: map[string]any{"username": nil},
		value: "our-token", want: "bk_token=our-token", env: "BK_TOKEN", envValue: "token-of-env", envWant: "bk_token=token-of-env",
	},
	"access_token": {
		setting: "access_token", seen: members("bk_username", "bk_token", "access_token"), with: map[string]any{"username": nil},
		value: "our-access", want: "access_token=our-access", env: "BK_ACCESS_TOKEN", envValue: "access-of-env", envWant: "access_token=access-of-env",
	},
	"tenant_id": {
		setting: "tenant_id", seen: (*settingScene).tenant,
		value: "acme", want: "acme", env: "BK_TENANT_ID", envValue: "tenant-of-env", envWant: "tenant-of-env",
	},
	"bk_supplier_id": {
		setting: "bk_supplier_id", seen: (*settingScene).suppliers, byDefault: "0",
		value: 17, want: "17", env: "BK_SUPPLIER_ID", envValue: "23", envWant: "23",
	},
	"bk_supplier_id-zero": {
		setting: "bk_supplier_id", seen: (*settingScene).suppliers,
		value: 0, want: "0", env: "BK_SUPPLIER_ID", envValue: "23", envWant: "23",
	},
	"max_unreachable_hosts": {
		setting: "max_unreachable_hosts", seen: (*settingScene).unreached, byDefault: "0",
		value: "50%", want: "1", env: "BK_MAX_UNREACHABLE_HOSTS", envValue: "49%", envWant: "0", fits: []any{3, "3"},
	},
	"default_labels": {
		setting: "default_labels", seen: (*settingScene).labels, with: map[string]any{"spec_fingerprint_label": ""},
		value: map[string]string{"team": "sre"}, want: "map[team:sre]",
	},
	"spec_fingerprint_label": {
		setting: "spec_fingerprint_label", seen: (*settingScene).labels,
		value: "mark", want: "map[mark:… mark_owner:…]", byDefault: "map[tf_spec:… tf_spec_owner:…]",
	},
	"max_hosts_per_request": {
		setting: "max_hosts_per_request", seen: (*settingScene).batches,
		value: 2, want: "GSE [1 2 2], JOB [1 2 2]", byDefault: "GSE [5], JOB [5]", fits: []any{1, 10000},
	},
	"max_concurrent_requests": {
		setting: "max_concurrent_requests", seen: atOnce(3), with: map[string]any{"max_hosts_per_request": 1},
		value: 3, want: "3", fits: []any{1},
	},
	"max_concurrent_requests-default": {
		setting: "max_concurrent_requests", seen: atOnce(8), with: map[string]any{"max_hosts_per_request": 1}, byDefault: "8",
	},
	"requests_per_second": {
		setting: "requests_per_second", seen: (*settingScene).rate, with: map[string]any{"max_hosts_per_request": 1},
		value: 0.0125, want: "0.0125", fits: []any{100000},
	},
	"max_retries":      {setting: "max_retries", seen: (*settingScene).tries, value: 6, want: "7", byDefault: "5", fits: []any{0, 100}},
	"max_retries-none": {setting: "max_retries", seen: (*settingScene).tries, value: 0, want: "1"},
	"retry_wait_min":   {setting: "retry_wait_min", seen: (*settingScene).waits, value: "4ms", want: "4 4 4 4"},
	"retry_wait_min-beyond-the-default-of-the-longest": {setting: "retry_wait_min", with: map[string]any{"retry_wait_max": nil}, fits: []any{"40s"}},
	"retry_wait_max": {
		setting: "retry_wait_max", seen: (*settingScene).waits, with: map[string]any{"retry_wait_min": "3ms"},
		value: "3ms", want: "3 3 3 3",
	},
	"request_timeout": {
		setting: "request_timeout", seen: (*settingScene).patience, with: map[string]any{"max_retries": 0},
		value: "70ms", want: "70ms", fits: []any{"1ms"},
	},
	"ca_cert_file": {
		setting: "ca_cert_file", seen: (*settingScene).trust, with: map[string]any{"endpoint": "{tls}"}, byDefault: "certificate signed by unknown authority",
		value: "{ca}", want: "trusted", env: "BK_CA_CERT_FILE", envValue: "{other-ca}", envWant: "certificate signed by unknown authority",
	},
	"insecure_skip_verify": {
		setting: "insecure_skip_verify", seen: (*settingScene).trust, with: map[string]any{"endpoint": "{tls}"}, byDefault: "certificate signed by unknown authority",
		value: true, want: "trusted", env: "BK_INSECURE_SKIP_VERIFY", envValue: "false", envWant: "certificate signed by unknown authority",
	},
	"insecure_skip_verify-off": {
		setting: "insecure_skip_verify", seen: (*settingScene).trust, with: map[string]any{"endpoint": "{tls}"},
		value: false, want: "certificate signed by unknown authority", env: "BK_INSECURE_SKIP_VERIFY", envValue: "true", envWant: "trusted",
	},
}

// badSettings are invalid values of each setting. Tests of the package bkapi have more of URLs.
var badSettings = []badSetting{
	{of: "endpoint", value: nil, want: `: Missing Provider Setting: endpoint is not set. Set it in the provider block, or set the environment variable BK_ENDPOINT.`},
	{of: "endpoint", value: "", want: `: Missing Provider Setting: endpoint is an empty text in the provider block, which hides the environment variable BK_ENDPOINT. Give it a value, or leave it out (null) to use the variable.`},
	{of: "endpoint", value: "paas.example.com", want: `: Invalid Provider Setting: Attribute endpoint: "paas.example.com" is not an absolute http or https URL such as https://paas.example.com.`},
	{of: "endpoint", value: "https://me:pw@paas.example.com", want: `: Invalid Provider Setting: Attribute endpoint: has user information; credentials have fields of their own.`},
	{of: "endpoint", env: "paas.example.com", want: `: Invalid Provider Setting: Environment variable BK_ENDPOINT: "paas.example.com" is not an absolute http or https URL such as https://paas.example.com.`},
	{of: "gateway-apigw", value: "soap", want: `gateway: Invalid Attribute Value Match: Attribute gateway value must be one of: ["esb" "apigw"], got: "soap"`},
	{of: "gateway-apigw", env: "soap", want: `gateway: Invalid Provider Setting: Environment variable BK_GATEWAY: "soap" is not one of "esb", "apigw".`},
	{of: "job_endpoint", value: "https://job.example.com?x=1", want: `: Invalid Provider Setting: Attribute job_endpoint: has a query.`},
	{of: "job_endpoint", env: "job.example.com", want: `: Invalid Provider Setting: Environment variable BK_JOB_ENDPOINT: "job.example.com" is not an absolute http or https URL such as https://paas.example.com.`},
	{of: "verify", value: "file", want: `verify: Invalid Attribute Value Match: Attribute verify value must be one of: ["labels" "agent"], got: "file"`},
	{of: "hosted_specs.path", value: "etc/.proc", want: `hosted_specs.path: Invalid Provider Setting: Attribute hosted_specs.path: "etc/.proc" is not an absolute path of a .proc, in letters, digits and _./\@+=-.`},
	{of: "hosted_specs.path", value: "/etc/shadow", want: `hosted_specs.path: Invalid Provider Setting: Attribute hosted_specs.path: "/etc/shadow" is not an absolute path of a .proc, in letters, digits and _./\@+=-.`},
	{of: "hosted_specs.path", env: "/x;reboot/.proc", want: `hosted_specs.path: Invalid Provider Setting: Environment variable BK_HOSTED_SPECS_PATH: "/x;reboot/.proc" is not an absolute path of a .proc, in letters, digits and _./\@+=-.`},
	{of: "hosted_specs.windows_path", value: `gse\.proc`, want: `hosted_specs.windows_path: Invalid Provider Setting: Attribute hosted_specs.windows_path: "gse\\.proc" is not an absolute path of a .proc, in letters, digits and _./\@+=-.`},
	{of: "hosted_specs.account", value: "a b", want: `hosted_specs.account: Invalid Provider Setting: Attribute hosted_specs.account: "a b" is not an account, in letters, digits and _.\@-.`},
	{of: "hosted_specs.windows_account", value: "", want: `hosted_specs.windows_account: Invalid Provider Setting: Attribute hosted_specs.windows_account: "" is not an account, in letters, digits and _.\@-.`},
	{of: "hosted_specs.via", value: "ssh", want: `hosted_specs.via: Invalid Attribute Value Match: Attribute hosted_specs.via value must be one of: ["gateway" "job"], got: "ssh"`},
	{of: "hosted_specs.via", value: "gateway", with: map[string]any{"gateway": "esb"}, want: `hosted_specs.via: Invalid Provider Setting: Attribute hosted_specs.via: the ESB has no script API; set it to "job", and hosted_specs.job_scope.`},
	{of: "hosted_specs.via", value: "job", with: map[string]any{"job_endpoint": nil}, want: `hosted_specs.via: Invalid Provider Setting: Attribute hosted_specs.via: nothing says where JOB is; set job_endpoint.`},
	{of: "hosted_specs.via", value: "job", with: map[string]any{"hosted_specs.job_scope.id": nil}, want: `hosted_specs.via: Invalid Provider Setting: Attribute hosted_specs.via: JOB runs scripts in a scope; set hosted_specs.job_scope.`},
	{of: "hosted_specs.via", value: "job", with: map[string]any{"job_api": "job"}, want: `hosted_specs.via: Invalid Provider Setting: Attribute hosted_specs.via: scripts require job_api = "jobv3".`},
	{of: "hosted_specs.via", env: "ssh", want: `hosted_specs.via: Invalid Provider Setting: Environment variable BK_HOSTED_SPECS_VIA: "ssh" is not one of "gateway", "job".`},
	{of: "hosted_specs.job_scope.id", value: nil, with: map[string]any{"hosted_specs.via": "job"}, want: `hosted_specs.via: Invalid Provider Setting: Attribute hosted_specs.via: JOB runs scripts in a scope; set hosted_specs.job_scope.`},
	{of: "hosted_specs.job_scope.type", value: "set", want: `hosted_specs.job_scope.type: Invalid Attribute Value Match: Attribute hosted_specs.job_scope.type value must be one of: ["biz" "biz_set"], got: "set"`},
	{of: "cmdb_endpoint", value: "cmdb.example.com", want: `: Invalid Provider Setting: Attribute cmdb_endpoint: "cmdb.example.com" is not an absolute http or https URL such as https://paas.example.com.`},
	{of: "cmdb_endpoint", value: "https://cmdb.example.com?x=1", want: `: Invalid Provider Setting: Attribute cmdb_endpoint: has a query.`},
	{of: "job_api-job", value: "jobv9", want: `job_api: Invalid Attribute Value Match: Attribute job_api value must be one of: ["jobv3" "job"], got: "jobv9"`},
	{of: "app_code", value: nil, want: `app_code: Missing Provider Setting: app_code is not set. Set it in the provider block, or set the environment variable BK_APP_CODE.`},
	{of: "app_secret", value: nil, want: `: Missing Provider Setting: app_secret is not set. Set it in the provider block, or set the environment variable BK_APP_SECRET.`},
	{of: "username", value: nil, want: `username: Missing Provider Setting: No user is set on whose behalf to call the platform. Set one of username, token, access_token, or one of the environment variables BK_USERNAME, BK_TOKEN, BK_ACCESS_TOKEN.`},
	{of: "username", value: "", want: `username: Missing Provider Setting: No user is set on whose behalf to call the platform. Set one of username, token, access_token, or one of the environment variables BK_USERNAME, BK_TOKEN, BK_ACCESS_TOKEN.`},
	{of: "token", value: "t", with: map[string]any{"username": "u"}, want: `: Invalid Provider Setting: More than one user identity is set: username, token. Set exactly one.`},
	{of: "access_token", value: "a", with: map[string]any{"username": "u", "token": "t"}, want: `: Invalid Provider Setting: More than one user identity is set: username, token, access_token. Set exactly one.`},
	{of: "tenant_id", value: "a\nb", want: `tenant_id: Invalid Provider Setting: Attribute tenant_id: has a control character.`},
	{of: "bk_supplier_id", value: -1, want: `bk_supplier_id: Invalid Attribute Value: Attribute bk_supplier_id value must be at least 0, got: -1`},
	{of: "bk_supplier_id", env: "-1", want: `bk_supplier_id: Invalid Provider Setting: Environment variable BK_SUPPLIER_ID: "-1" is not a whole number of at least 0.`},
	{of: "max_unreachable_hosts", value: "x", want: `max_unreachable_hosts: Invalid Number Of Hosts: Attribute max_unreachable_hosts: "x" is neither a number of hosts ("3") nor a share of all hosts ("10%").`},
	{of: "max_unreachable_hosts", env: "-1", want: `max_unreachable_hosts: Invalid Provider Setting: Environment variable BK_MAX_UNREACHABLE_HOSTS: "-1" is neither a number of hosts ("3") nor a share of all hosts ("10%").`},
	{of: "default_labels", value: map[string]any{"team": nil}, want: `default_labels["team"]: Invalid Label: Attribute default_labels["team"]: the label "team" is null; give it a value, or leave it out.`},
	{of: "default_labels", value: map[string]string{"my team": "x"}, want: `default_labels["my team"]: Invalid Label: Attribute default_labels["my team"]: the name of a label must not contain white space; use "my-team" instead of "my team".`},
	{of: "default_labels", value: map[string]string{"tf_spec": "x"}, with: map[string]any{"spec_fingerprint_label": nil}, want: `default_labels["tf_spec"]: Invalid Label: Attribute default_labels["tf_spec"]: the provider stores the fingerprint of the spec in this label; use another, or set spec_fingerprint_label to a label that is free.`},
	{of: "default_labels", value: map[string]string{"tf_spec_owner": "x"}, with: map[string]any{"spec_fingerprint_label": nil}, want: `default_labels["tf_spec_owner"]: Invalid Label: Attribute default_labels["tf_spec_owner"]: the provider stores the owner of the registration in this label; use another, or set spec_fingerprint_label to a label that is free.`},
	{of: "spec_fingerprint_label", value: "team", with: map[string]any{"default_labels": map[string]string{"team": "sre"}}, want: `default_labels["team"]: Invalid Label: Attribute default_labels["team"]: the provider stores the fingerprint of the spec in this label; use another, or set spec_fingerprint_label to a label that is free.`},
	{of: "max_hosts_per_request", value: 0, want: `max_hosts_per_request: Invalid Attribute Value: Attribute max_hosts_per_request value must be between 1 and 10000, got: 0`},
	{of: "max_hosts_per_request", value: 10001, want: `max_hosts_per_request: Invalid Attribute Value: Attribute max_hosts_per_request value must be between 1 and 10000, got: 10001`},
	{of: "max_concurrent_requests", value: 0, want: `max_concurrent_requests: Invalid Attribute Value: Attribute max_concurrent_requests value must be at least 1, got: 0`},
	{of: "requests_per_second", value: 0, want: `requests_per_second: Invalid Rate: Attribute requests_per_second: the value must be more than 0 and at most 100000 requests per second; got 0. To set no limit, leave it out.`},
	{of: "requests_per_second", value: 100001, want: `requests_per_second: Invalid Rate: Attribute requests_per_second: the value must be more than 0 and at most 100000 requests per second; got 100001.`},
	{of: "max_retries", value: -1, want: `max_retries: Invalid Attribute Value: Attribute max_retries value must be between 0 and 100, got: -1`},
	{of: "max_retries", value: 101, want: `max_retries: Invalid Attribute Value: Attribute max_retries value must be between 0 and 100, got: 101`},
	{of: "retry_wait_min", value: "1", want: `retry_wait_min: Invalid Duration: Attribute retry_wait_min: the value must be a duration of at least 1ms, such as "500ms", "30s" or "2m"; got "1".`},
	{of: "retry_wait_min", value: "999us", want: `retry_wait_min: Invalid Duration: Attribute retry_wait_min: the value must be a duration of at least 1ms, such as "500ms", "30s" or "2m"; got "999us".`},
	{of: "retry_wait_min", value: "2s", with: map[string]any{"retry_wait_max": "1s"}, want: `retry_wait_max: Invalid Provider Setting: Attribute retry_wait_max: less than retry_wait_min.`},
	{of: "retry_wait_max", value: "fast", want: `retry_wait_max: Invalid Duration: Attribute retry_wait_max: the value must be a duration of at least 1ms, such as "500ms", "30s" or "2m"; got "fast".`},
	{of: "request_timeout", value: "soon", want: `request_timeout: Invalid Duration: Attribute request_timeout: the value must be a duration of at least 1ms, such as "500ms", "30s" or "2m"; got "soon".`},
	{of: "ca_cert_file", value: "/nonexistent.pem", want: `ca_cert_file: Invalid Provider Setting: Attribute ca_cert_file: open /nonexistent.pem: no such file or directory.`},
	{of: "insecure_skip_verify", env: "perhaps", want: `insecure_skip_verify: Invalid Provider Setting: Environment variable BK_INSECURE_SKIP_VERIFY: "perhaps" is neither true nor false.`},
}
