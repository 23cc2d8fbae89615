package hostedspec

import _ "embed"

// ShellScript is what the platform runs on Linux to read the file named by its first argument. Of the file,
// it prints only brackets and the values of the keys that Parse reads.
//
//go:embed read_hosted.sh
var ShellScript string

// PowerShellScript is ShellScript for Windows.
//
//go:embed read_hosted.ps1
var PowerShellScript string
