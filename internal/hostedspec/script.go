package hostedspec

import _ "embed"

// ShellScript is what the platform runs on Linux to read the file that is its first argument. It
// prints nothing of the file but brackets and the values of the keys that Parse reads.
//
//go:embed read_hosted.sh
var ShellScript string

// PowerShellScript is ShellScript for Windows.
//
//go:embed read_hosted.ps1
var PowerShellScript string
